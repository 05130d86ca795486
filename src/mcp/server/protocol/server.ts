import { AppError } from '../../../core/error.ts';
import type { JsonObject } from '../../../core/json.ts';
import { formatFailure } from '../errors.ts';
import { formatInstructions } from '../help.ts';
import type { Host } from '../host.ts';
import { createProgressReporter, NO_PROGRESS, type Progress } from '../progress.ts';
import type { Sdk, SdkCallResult, SdkContext, SdkServer } from '../sdk.ts';
import type { CallResult, ServerTool, Service } from '../tool.ts';
import { toPublicTool } from './handshake.ts';
import { fillPrompt, PROMPT_LIST } from './prompts.ts';
import { RESOURCE_LIST, RESOURCE_TEMPLATES, readResource } from './resources.ts';

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** Keeps nothing about its client: all clients share the host. */
export function createProtocolServer(sdk: Sdk, { host, tools }: Service): SdkServer {
  const server = new sdk.Server(
    { name: host.name, version: host.version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: formatInstructions(host) },
  );
  const invalidParamsError = (message: string): Error => new sdk.ProtocolError(INVALID_PARAMS, message);
  server.setRequestHandler('tools/list', () => ({ tools: tools.map((tool) => toPublicTool(tool, host.allowed)) }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw invalidParamsError(`there is no tool "${params.name.slice(0, 80)}"`);
    // The SDK has checked the arguments. Its types ask for mutable arrays, but it changes none.
    const result = await callTool(tool, (params.arguments ?? {}) as JsonObject, { host, context });
    return result as unknown as SdkCallResult;
  });
  server.setRequestHandler('resources/list', () => ({ resources: [...RESOURCE_LIST] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [...RESOURCE_TEMPLATES] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const found = await readResource(host, uri).catch((thrown: unknown) => {
      throw new sdk.ProtocolError(INTERNAL_ERROR, formatFailure(AppError.from(thrown)));
    });
    if (found === undefined) {
      throw new sdk.ProtocolError(INVALID_PARAMS, `there is no resource "${uri.slice(0, 200)}", or no longer`, { uri });
    }
    const { text, mimeType, next } = found;
    return { contents: [{ uri, mimeType, text, _meta: next === undefined ? undefined : { next } }] };
  });
  server.setRequestHandler('prompts/list', () => ({
    prompts: PROMPT_LIST.map((prompt) => ({ ...prompt, arguments: [...prompt.arguments] })),
  }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    const filled = fillPrompt(params.name, params.arguments ?? {});
    if ('fault' in filled) throw invalidParamsError(filled.fault);
    const { description, text } = filled;
    return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
  return server;
}

async function callTool(
  tool: ServerTool,
  args: JsonObject,
  { host, context }: { readonly host: Host; readonly context: SdkContext },
): Promise<CallResult> {
  const progress = createCallProgress(host, context);
  const call = tool.call(args, { host, progress, signal: toAppSignal(context.mcpReq.signal) });
  host.calls.add(call);
  try {
    return await call;
  } finally {
    host.calls.delete(call);
    progress.stop();
  }
}

/** Any value is a token, 0 and the empty string included. */
function createCallProgress({ clock }: Host, { mcpReq }: SdkContext): Progress {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return NO_PROGRESS;
  return createProgressReporter({
    now: clock.now,
    send: (progress, message) => {
      const params = { progressToken, progress, message };
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    },
  });
}

/** The SDK's reasons are no AppErrors. */
function toAppSignal(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new AppError('interrupted', 'the caller cancelled the call'));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}
