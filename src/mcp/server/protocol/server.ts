import { AppError } from '../../../core/error.ts';
import type { JsonObject } from '../../../core/json.ts';
import { failureText } from '../errors.ts';
import { instructions } from '../help.ts';
import type { Host } from '../host.ts';
import { NO_PROGRESS, type Progress, progressTo } from '../progress.ts';
import type { Sdk, SdkCallResult, SdkContext, SdkServer } from '../sdk.ts';
import type { CallResult, ServerTool, Service } from '../tool.ts';
import { publishedTool } from './handshake.ts';
import { filledPrompt, PROMPT_LIST } from './prompts.ts';
import { RESOURCE_LIST, RESOURCE_TEMPLATES, readResource } from './resources.ts';

/** Error codes of JSON-RPC. */
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** An SDK server for one client. All clients share the host; nothing about one client is kept here. */
export function protocolServer(sdk: Sdk, { host, tools }: Service): SdkServer {
  const server = new sdk.Server(
    { name: host.name, version: host.version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: instructions(host) },
  );
  const invalid = (words: string): Error => new sdk.ProtocolError(INVALID_PARAMS, words);
  server.setRequestHandler('tools/list', () => ({ tools: tools.map((tool) => publishedTool(tool, host.allowed)) }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw invalid(`there is no tool "${params.name.slice(0, 80)}"`);
    return parseResult(await calledTool(tool, parseArguments(params.arguments), { host, context }));
  });
  server.setRequestHandler('resources/list', () => ({ resources: [...RESOURCE_LIST] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [...RESOURCE_TEMPLATES] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const found = await readResource(host, uri).catch((thrown: unknown) => {
      throw new sdk.ProtocolError(INTERNAL_ERROR, failureText(AppError.from(thrown)));
    });
    if (found === undefined) {
      throw new sdk.ProtocolError(INVALID_PARAMS, `there is no resource "${uri.slice(0, 200)}", or no longer`, { uri });
    }
    const { text, mimeType, next } = found;
    return { contents: [{ uri, mimeType, text, ...(next === undefined ? {} : { _meta: { next } }) }] };
  });
  server.setRequestHandler('prompts/list', () => ({ prompts: PROMPT_LIST.map(publishedPrompt) }));
  server.setRequestHandler('prompts/get', ({ params }) => {
    const filled = filledPrompt(params.name, params.arguments ?? {});
    if ('fault' in filled) throw invalid(filled.fault);
    const { description, text } = filled;
    return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
  return server;
}

function publishedPrompt({ arguments: list, ...prompt }: (typeof PROMPT_LIST)[number]) {
  return { ...prompt, arguments: [...list] };
}

async function calledTool(
  tool: ServerTool,
  args: JsonObject,
  { host, context }: { readonly host: Host; readonly context: SdkContext },
): Promise<CallResult> {
  const progress = progressOf(host, context);
  const call = tool.call(args, { host, progress, signal: takenBack(context.mcpReq.signal) });
  host.calls.add(call);
  try {
    return await call;
  } finally {
    host.calls.delete(call);
    progress.stop();
  }
}

/** Any value is a token, 0 and the empty string included. */
function progressOf({ clock }: Host, { mcpReq }: SdkContext): Progress {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return NO_PROGRESS;
  return progressTo({
    now: clock.now,
    send: (progress, message) => {
      const params = { progressToken, progress, message };
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    },
  });
}

/** The client's signal, with an AppError as its reason. */
function takenBack(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new AppError('interrupted', 'the caller took the call back'));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}

/** The SDK has checked that it is a JSON object or absent. */
function parseArguments(value: unknown): JsonObject {
  return (value ?? {}) as JsonObject;
}

/** The SDK's types ask for mutable arrays, but it changes none. */
function parseResult(result: CallResult): SdkCallResult {
  return result as unknown as SdkCallResult;
}
