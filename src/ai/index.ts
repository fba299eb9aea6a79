export { modelAgent } from './model-agent.ts';
export { type ModelDescription, modelAgentFromDescription, modelDescription } from './model-description.ts';
export type { ModelOptions, ModelOutput, Price } from './model-options.ts';
export { renderRequest } from './render-request.ts';
