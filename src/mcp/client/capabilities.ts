import type { Elicitation } from '../../core/elicitation.ts';
import type { NamedServer } from './definition.ts';
import { parseObject } from './parse.ts';
import type { SdkClient, SdkClientOptions } from './sdk.ts';
import type { ClientContext, ListKind } from './types.ts';

/** A storm of changes is told once a second. */
const CHANGE_MS = 1000;

/** The library's own checks of what a schema says: gmn makes none, and compiles no server's pattern. */
const UNCHECKED: NonNullable<SdkClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (value) => ({ valid: true, data: parseAny(value), errorMessage: undefined }),
};

interface ClientSide {
  /** No revision after 2025-11-25 is tried. */
  readonly isLegacy: boolean;
  readonly onChanged: (kind: ListKind) => void;
}

/** What gmn tells a server it can do: no sampling ever; roots and questions only where there are some. */
export function clientOptions(context: ClientContext, { isLegacy, onChanged }: ClientSide): SdkClientOptions {
  const watch = (kind: ListKind) => ({ autoRefresh: false, debounceMs: CHANGE_MS, onChanged: () => onChanged(kind) });
  return {
    versionNegotiation: { mode: isLegacy ? 'legacy' : 'auto' },
    jsonSchemaValidator: UNCHECKED,
    capabilities: {
      ...(context.roots === undefined ? {} : { roots: {} }),
      ...(context.elicit === undefined ? {} : { elicitation: { form: {}, url: {} } }),
    },
    listChanged: { tools: watch('tools'), prompts: watch('prompts'), resources: watch('resources') },
  };
}

/** Answers what a server may ask of us; everything else is refused as unknown. */
export function serveClient(client: SdkClient, { name }: NamedServer, { roots, elicit }: ClientContext): void {
  if (roots !== undefined) {
    client.setRequestHandler('roots/list', () => ({ roots: roots.map((path) => ({ uri: fileUrl(path) })) }));
  }
  if (elicit === undefined) return;
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const answer = await elicit(questionOf(name, params), mcpReq.signal);
    return answer.action === 'accept' ? { action: answer.action, content: mutable(answer.content) } : answer;
  });
}

function questionOf(server: string, params: { readonly message: string }): Elicitation {
  const { message } = params;
  if ('url' in params && typeof params.url === 'string') return { kind: 'url', server, message, url: params.url };
  return {
    kind: 'form',
    server,
    message,
    schema: parseObject('requestedSchema' in params ? params.requestedSchema : {}),
  };
}

/** The SDK wants lists it could change. */
function mutable(content: Readonly<Record<string, string | number | boolean | readonly string[]>>) {
  return Object.fromEntries(
    Object.entries(content).map(([key, value]) => [key, typeof value === 'object' ? [...value] : value]),
  );
}

function fileUrl(path: string): string {
  const [, drive = '', rest = path] = /^([A-Za-z]:)([\\/].*)$/s.exec(path) ?? [];
  const names = drive === '' ? rest.split('/') : rest.split(/[\\/]/);
  return `file://${drive === '' ? '' : `/${drive}`}${names.map(encodeURIComponent).join('/')}`;
}

function parseAny<Value>(value: unknown): Value {
  return value as Value;
}
