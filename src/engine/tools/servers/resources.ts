import { AppError } from '../../../core/error.ts';
import type { ReadResource, Resource } from '../../../input/prompt-input.ts';
import type { McpTools } from '../../../mcp/client/tools/toolset.ts';
import type { Connection } from '../../../mcp/client/types.ts';

/** For `@server:uri`. Listed URIs are tried first: many servers accept any URI, even one with a trailing comma. */
export function createResourceReader({
  servers,
  pool,
}: Pick<McpTools, 'servers'> & { readonly pool: Pick<McpTools['pool'], 'connect'> }): ReadResource {
  return async (mentions, signal) => {
    const named = servers.find(({ server }) => mentions[0]?.startsWith(`${server.name}:`));
    if (named === undefined) return undefined;
    const { name } = named.server;
    const connection = await pool.connect(named.server, signal);
    const listed = await listUris(connection, signal);
    const wanted = mentions.filter((mention) => mention.startsWith(`${name}:`) && mention.length > name.length + 1);
    const known = wanted.flatMap((mention) => listCandidateUris(mention, name)).find((uri) => listed.includes(uri));
    if (known !== undefined) return readPieces(connection, known, signal);
    for (const mention of wanted) {
      const [only, ...others] = listed.filter((uri) => uri.endsWith(mention.slice(name.length)));
      const uris = [...listCandidateUris(mention, name), ...(only === undefined || others.length > 0 ? [] : [only])];
      for (const uri of uris) {
        const resource = await readPieces(connection, uri, signal);
        if (resource !== undefined) return resource;
      }
    }
    return undefined;
  };
}

/** `notes://a` may be a URI itself, or a prefix `notes://` before one. */
function listCandidateUris(mention: string, server: string): readonly string[] {
  const rest = mention.slice(server.length + 1);
  if (!rest.startsWith('//')) return [rest];
  const path = rest.slice(2);
  return /^[a-z][a-z\d+.-]*:/i.test(path) ? [mention, path] : [mention];
}

async function listUris(connection: Connection, signal: AbortSignal): Promise<readonly string[]> {
  const listing = await ignoreRejection(connection, connection.listResources({ signal }));
  return listing?.items.map(({ uri }) => uri) ?? [];
}

async function readPieces(connection: Connection, uri: string, signal: AbortSignal): Promise<Resource | undefined> {
  const contents = (await ignoreRejection(connection, connection.readResource(uri, { signal }))) ?? [];
  const pieces = contents.map(({ text, blob = '' }) => text ?? Buffer.from(blob, 'base64'));
  return pieces.length === 0 ? undefined : { uri, pieces };
}

/** An error from a live server means there is no such resource; one from a closed connection is a failure. */
async function ignoreRejection<Value>(connection: Connection, request: Promise<Value>): Promise<Value | undefined> {
  try {
    return await request;
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.fault === 'mcp' && connection.isOpen) return undefined;
    throw thrown;
  }
}
