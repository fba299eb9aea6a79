import { RuntimeError } from '../index.ts';

/** What stands for the SDK: loaded by the first call, so that nobody needs it who calls no model. */
export const loadSdk = (): Promise<typeof import('ai')> => loaded('ai', () => import('ai'));

export const loadProvider = (): Promise<typeof import('@ai-sdk/openai-compatible')> =>
  loaded('@ai-sdk/openai-compatible', () => import('@ai-sdk/openai-compatible'));

const loaded = async <Module>(name: string, load: () => Promise<Module>): Promise<Module> => {
  try {
    return await load();
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw Object.assign(
      new RuntimeError('MODEL_PACKAGE_MISSING', { package: name, problem }, { cause: error }),
      {
        final: true,
      },
    );
  }
};
