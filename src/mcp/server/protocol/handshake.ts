import { isObject } from '../../../core/json.ts';
import { formatInstructions } from '../help.ts';
import type { Host } from '../host.ts';
import type { SdkMessage, SdkTool } from '../sdk.ts';
import type { Annotations, ServerTool, Service } from '../tool.ts';
import { PROMPT_LIST } from './prompts.ts';
import { RESOURCE_LIST, RESOURCE_TEMPLATES } from './resources.ts';

/** The protocol versions that begin with `initialize`, newest first. A test compares them with those of the SDK. */
const PROTOCOL_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const;

const CAPABILITIES = { tools: {}, resources: {}, prompts: {} } as const;

/** Answers a client's first requests without the SDK, which takes longer to load than everything else. */
interface Handshake {
  /** `handled` for a message that needs no response; undefined once the SDK has to take over. */
  respond(message: SdkMessage): SdkMessage | 'handled' | undefined;
  /** To be replayed to the SDK, so that it knows the client; the first is `initialize`. */
  readonly handled: readonly SdkMessage[];
}

/** Only for clients of the older protocol versions; any unusual request ends it. */
export function createHandshake({ host, tools }: Service): Handshake {
  const handled: SdkMessage[] = [];
  const results: Readonly<Record<string, () => object>> = {
    ping: () => ({}),
    'tools/list': () => ({ tools: tools.map((tool) => toPublicTool(tool, host.allowed)) }),
    'prompts/list': () => ({ prompts: PROMPT_LIST }),
    'resources/list': () => ({ resources: RESOURCE_LIST }),
    'resources/templates/list': () => ({ resourceTemplates: RESOURCE_TEMPLATES }),
  };
  return {
    handled,
    respond(message) {
      if (!('method' in message)) return undefined;
      const { method, params } = message;
      if (!('id' in message))
        return method === 'notifications/initialized' ? recordInitialized(handled, message) : undefined;
      if (handled.length === 0) {
        if (method !== 'initialize' || isObject(params?._meta)) return undefined;
        handled.push(message);
        return toResponse(message.id, toInitializeResult(params, host));
      }
      const result = Object.hasOwn(results, method) && hasNoParams(params) ? results[method] : undefined;
      return result && toResponse(message.id, result());
    },
  };
}

function recordInitialized(handled: SdkMessage[], message: SdkMessage): 'handled' | undefined {
  if (handled.length === 0) return undefined;
  if (handled.length === 1) handled.push(message);
  return 'handled';
}

/** Newer protocol versions send fields of their own here. */
function hasNoParams(params: unknown): boolean {
  return params === undefined || (isObject(params) && Object.keys(params).length === 0);
}

function toInitializeResult(params: Readonly<Record<string, unknown>> | undefined, host: Service['host']): object {
  const { name, version } = host;
  const protocolVersion =
    PROTOCOL_VERSIONS.find((version) => version === params?.protocolVersion) ?? PROTOCOL_VERSIONS[0];
  return {
    protocolVersion,
    capabilities: CAPABILITIES,
    serverInfo: { name, version },
    instructions: formatInstructions(host),
  };
}

function toResponse(id: string | number, result: object): SdkMessage {
  return { jsonrpc: '2.0', id, result } as SdkMessage;
}

export function toPublicTool(
  { name, title, description, annotations, input, output }: ServerTool,
  allowed: Host['allowed'],
): SdkTool {
  return {
    name,
    title,
    description,
    inputSchema: input,
    outputSchema: output,
    annotations: { title, ...(annotations === 'agent' ? toAgentAnnotations(allowed) : annotations) },
  } as SdkTool;
}

/** Hosts ask a person before each call of a destructive tool; a model that only reads is not one. */
function toAgentAnnotations({ write, shell }: Host['allowed']): Annotations {
  if (!write && !shell) return { readOnlyHint: true, openWorldHint: true };
  return { readOnlyHint: false, destructiveHint: true, openWorldHint: true };
}
