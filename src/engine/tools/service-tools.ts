import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ServiceTier } from '../../core/model.ts';
import { type Backend, canMixTools } from '../../models/table.ts';
import type { ToolSetup } from './setup.ts';

type ServiceTools = Pick<ToolSetup, 'search' | 'code' | 'url'>;

interface ServiceContext {
  readonly modelId: string;
  readonly backend: Backend;
  readonly hasTools: boolean;
  readonly serviceTier: ServiceTier | undefined;
}

/** The fields of a request that these flags set. Throws AppError `usage` for what model or backend do not have. */
export function toServiceFields(options: ServiceTools, context: ServiceContext) {
  const { search, code, url } = options;
  const { serviceTier } = context;
  if (serviceTier !== undefined) checkTier(context.backend);
  const tools: readonly JsonObject[] = [
    ...(search ? [{ googleSearch: {} }] : []),
    ...(code ? [{ codeExecution: {} }] : []),
    ...(url ? [{ urlContext: {} }] : []),
  ];
  const isMixed = tools.length > 0 && context.hasTools;
  if (isMixed) checkMix(options, context.modelId);
  return {
    tools: tools.length === 0 ? undefined : tools,
    // With this field Gemini 3 sees in its next step what its own tools found. The other backends do not have it.
    toolConfig: isMixed && context.backend === 'gemini-api' ? { includeServerSideToolInvocations: true } : undefined,
    serviceTier,
  };
}

function checkTier(backend: Backend): void {
  if (backend !== 'code-assist') return;
  throw new AppError('usage', '--service-tier: Code Assist, which a Google login uses, has no tiers to choose from', {
    hint: 'Leave it out, or use an API key: set GEMINI_API_KEY, or run gmn auth set-key.',
  });
}

function checkMix({ search, code, url }: ServiceTools, model: string): void {
  if (canMixTools(model)) return;
  const flags = [...(search ? ['--search'] : []), ...(code ? ['--code'] : []), ...(url ? ['--url'] : [])];
  throw new AppError('usage', `${flags.join(', ')} cannot be combined with other tools`, {
    hint: search
      ? 'Give the model the search as a tool instead: --tools google_web_search, or --tools all'
      : `${model} takes either. Use --tools none, or a newer model, for example -m flash`,
  });
}
