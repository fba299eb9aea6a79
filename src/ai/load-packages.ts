import { RuntimeError } from '../index.ts';

/** What stands for the SDK: loaded by the first call, so that nobody needs it who calls no model. */
export const loadSdk = (): Promise<typeof import('ai')> => loaded('ai', () => import('ai'));

/** For models of workflow files. The SDK would write its warnings to the standard output, which belongs to the command line. */
export const loadProvider = async (): Promise<typeof import('@ai-sdk/openai-compatible')> => {
  globalThis.AI_SDK_LOG_WARNINGS ??= false;
  return loaded('@ai-sdk/openai-compatible', () => import('@ai-sdk/openai-compatible'));
};

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
