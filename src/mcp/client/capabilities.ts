import type { Elicitation } from '../../core/elicitation.ts';
import { toJsonObject } from '../../core/json.ts';
import type { NamedServer } from './definition.ts';
import type { SdkClient, SdkClientOptions } from './sdk.ts';
import type { ClientContext, ListKind } from './types.ts';

const CHANGE_DEBOUNCE_MS = 1000;

/** Turns off the SDK's schema validation: results are taken as they come, and no pattern of a server is compiled. */
const ACCEPT_ALL: NonNullable<SdkClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
};

/** Never sampling; roots and elicitation only where the context has them. `isLegacy`: versions up to 2025-11-25 only. */
export function createClientOptions(
  context: ClientContext,
  isLegacy: boolean,
  onChanged: (kind: ListKind) => void,
): SdkClientOptions {
  const watch = (kind: ListKind) => ({
    autoRefresh: false,
    debounceMs: CHANGE_DEBOUNCE_MS,
    onChanged: () => onChanged(kind),
  });
  return {
    versionNegotiation: { mode: isLegacy ? 'legacy' : 'auto' },
    jsonSchemaValidator: ACCEPT_ALL,
    capabilities: {
      roots: context.roots && {},
      elicitation: context.elicit && { form: {}, url: {} },
    },
    listChanged: { tools: watch('tools'), prompts: watch('prompts'), resources: watch('resources') },
  };
}

/** Handles the requests a server may send; the SDK answers all others with "method not found". */
export function handleServerRequests(client: SdkClient, { name }: NamedServer, { roots, elicit }: ClientContext): void {
  if (roots !== undefined) {
    client.setRequestHandler('roots/list', () => ({ roots: roots.map((path) => ({ uri: toFileUrl(path) })) }));
  }
  if (elicit === undefined) return;
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const answer = await elicit(toElicitation(name, params), mcpReq.signal);
    return answer.action === 'accept' ? { action: answer.action, content: toMutable(answer.content) } : answer;
  });
}

function toElicitation(server: string, params: { readonly message: string }): Elicitation {
  const { message } = params;
  if ('url' in params && typeof params.url === 'string') return { kind: 'url', server, message, url: params.url };
  return {
    kind: 'form',
    server,
    message,
    schema: toJsonObject('requestedSchema' in params ? params.requestedSchema : {}),
  };
}

/** The SDK's types ask for mutable arrays. */
function toMutable(content: Readonly<Record<string, string | number | boolean | readonly string[]>>) {
  return Object.fromEntries(
    Object.entries(content).map(([key, value]) => [key, typeof value === 'object' ? [...value] : value]),
  );
}

function toFileUrl(path: string): string {
  const [, drive = '', rest = path] = /^([A-Za-z]:)([\\/].*)$/s.exec(path) ?? [];
  const names = drive === '' ? rest.split('/') : rest.split(/[\\/]/);
  return `file://${drive === '' ? '' : `/${drive}`}${names.map(encodeURIComponent).join('/')}`;
}
