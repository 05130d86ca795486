import { raceWithAbort } from '../../../core/async.ts';
import type { MediaPart } from '../../../core/content.ts';
import { AppError, findStatus } from '../../../core/error.ts';
import type { JsonObject } from '../../../core/json.ts';
import { formatSize, plural } from '../../../core/text/format.ts';
import { sniffMedia } from '../../../core/text/media.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { errorResult, READ_TOOL, type ToolResult, UNTRUSTED } from '../../../core/tool.ts';
import type { ServerPool } from '../pool.ts';
import type { ConfiguredServer } from '../servers.ts';
import type { CallResult, ClientContext, Connection, ContentBlock, Progress, RemoteTool } from '../types.ts';
import { fetchToolList, hashTool, type ToolList } from './cache.ts';
import type { RegisteredTool, RegistrationOptions } from './registration.ts';

export interface CallHandling {
  readonly storeOutput?: StoreOutput;
  readonly onProgress?: (progress: Progress) => void;
}

/** Asks each connection once. Throws as a connection does. */
export type FetchToolList = (server: ConfiguredServer, signal: AbortSignal) => Promise<ToolList>;

/** Asks again after a server says its list has changed, and then calls `onStale`. */
export function createToolListFetcher(
  context: ClientContext,
  pool: ServerPool,
  onStale: (server: ConfiguredServer) => void,
): FetchToolList {
  const fetches = new WeakMap<Connection, Promise<ToolList>>();
  const watched = new WeakSet<Connection>();
  return async (server, signal) => {
    const connection = await pool.connect(server, signal);
    const known = fetches.get(connection);
    if (known !== undefined) return raceWithAbort(known, signal);
    const fetching = fetchToolList(server, connection, { context, signal });
    fetches.set(connection, fetching);
    fetching.catch(() => fetches.delete(connection));
    if (!watched.has(connection)) {
      watched.add(connection);
      connection.onListChanged((kind) => {
        if (kind !== 'tools') return;
        fetches.delete(connection);
        onStale(server);
      });
    }
    return fetching;
  };
}

/** A server started for its first call is asked for its tools again: one that has changed since is not run. */
export function createRemoteCalls(
  pool: ServerPool,
  fetchList: FetchToolList,
  { storeOutput = async () => undefined, onProgress = () => {} }: CallHandling = {},
): RegistrationOptions['call'] {
  const attempt = async ({ server, remote }: Origin, args: JsonObject, signal: AbortSignal): Promise<ToolResult> => {
    const toolList = await fetchList(server, signal);
    const current = toolList.tools.find(({ name }) => name === remote.name);
    if (current === undefined || hashTool(current) !== hashTool(remote))
      return errorResult(formatToolChange(server, remote, current));
    const connection = await pool.connect(server, signal);
    return toToolResult(await connection.callTool(remote.name, args, { signal, onProgress }), storeOutput);
  };
  return async (origin, args, signal) => {
    try {
      const run = () => attempt(origin, args, signal);
      return await pool.runSafely(origin.server, run, signal).catch((thrown: unknown) => {
        // The server dropped the session without running the call, so a second try in a new session is safe.
        if (findStatus(thrown) === 404) return run();
        throw thrown;
      });
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof AppError)) throw thrown;
      return errorResult(thrown.message);
    }
  };
}

type Origin = Pick<RegisteredTool, 'server' | 'remote'>;

function formatToolChange({ name }: ConfiguredServer, remote: RemoteTool, current: RemoteTool | undefined): string {
  const server = sanitize(name);
  if (current === undefined) return `the MCP server ${server} no longer has the tool ${sanitize(remote.name)}`;
  return `${sanitize(remote.name)} was not run: its definition has changed. The user can review and allow it in a terminal with: gmn mcp tools ${server}`;
}

const MAX_TEXT_CHARS = 40_000;
const MAX_BLOCKS = 1000;
/** In base64, all media of one result together. */
const MAX_MEDIA_CHARS = 10_000_000;

/** Returns the path at which `read_file` finds the text; undefined if it cannot be stored. */
type StoreOutput = (text: string) => Promise<string | undefined>;

/** Keeps the text in order, attaches media, and adds structured content unless the text repeats it; marks it as data. */
export async function toToolResult(result: CallResult, storeOutput: StoreOutput): Promise<ToolResult> {
  const { content, structuredContent, isError, omitted = [] } = result;
  const media: MediaPart[] = [];
  let mediaChars = 0;
  const attach = (part: MediaPart): boolean => {
    mediaChars += part.inlineData.data.length;
    if (mediaChars > MAX_MEDIA_CHARS) return false;
    return media.push(part) > 0;
  };
  const texts = content.slice(0, MAX_BLOCKS).map((block) => toModelText(block, attach));
  if (content.length > MAX_BLOCKS) texts.push(`[${content.length - MAX_BLOCKS} more parts were skipped]`);
  for (const kind of new Set(omitted)) texts.push(`[a part of the type ${kind} was skipped: it cannot be shown]`);
  const text = await shortenText(texts.join('\n'), storeOutput);
  const structure = structuredContent === undefined ? undefined : JSON.stringify(structuredContent);
  const isRepeated = structure === undefined || texts.some((item) => isSameJson(item, structure));
  const rest = isRepeated
    ? {}
    : {
        structured:
          structure.length > MAX_TEXT_CHARS ? await shortenText(structure, storeOutput) : (structuredContent ?? null),
      };
  const output = text === '' && isRepeated ? '(no output)' : text;
  const attached = media.length === 0 ? undefined : media;
  if (isError)
    return { ok: false, response: { error: output || 'the tool failed', ...rest, ...UNTRUSTED }, media: attached };
  const summary = summarizeResult(texts, output);
  return {
    ok: true,
    response: { output, ...rest, ...UNTRUSTED },
    media: attached,
    summary: summary || undefined,
  };
}

const MAX_SUMMARY = 60;

function summarizeResult(texts: readonly string[], output: string): string {
  if (texts.length > 1) return plural(texts.length, 'part');
  const text = output.trim();
  if (text.length <= MAX_SUMMARY && !text.includes('\n')) return text;
  const lines = text.split('\n').length;
  return lines > 1 ? plural(lines, 'line') : `${text.slice(0, MAX_SUMMARY - 1).toWellFormed()}…`;
}

function toModelText(block: ContentBlock, attach: (part: MediaPart) => boolean): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return attachMedia(block.type, block.data, attach, block.mimeType);
    case 'resource_link':
      return `[resource ${block.uri}${block.name === block.uri ? '' : ` (${block.name})`}]`;
    case 'resource': {
      const { uri, text, blob, mimeType } = block.resource;
      const label = `[resource ${uri}]`;
      return text === undefined ? `${label} ${attachMedia('file', blob ?? '', attach, mimeType)}` : `${label}\n${text}`;
    }
  }
}

/** Sniffs the type from the bytes: a wrong one would fail the whole request. */
function attachMedia(
  what: string,
  data: string,
  attach: (part: MediaPart) => boolean,
  claimed = 'unknown type',
): string {
  const bytes = Buffer.from(data, 'base64');
  const mimeType = sniffMedia(bytes);
  const size = formatSize(bytes.length);
  if (mimeType === undefined) return `[${what}, ${claimed}, ${size}: of a type that cannot be shown]`;
  const isAttached = attach({ inlineData: { mimeType, data: bytes.toString('base64') } });
  return isAttached
    ? `[${what}, ${mimeType}, ${size}: attached]`
    : `[${what}, ${mimeType}, ${size}: too large to be shown]`;
}

async function shortenText(text: string, storeOutput: StoreOutput): Promise<string> {
  if (text.length <= MAX_TEXT_CHARS) return text.toWellFormed();
  const start = text.slice(0, MAX_TEXT_CHARS * 0.75).toWellFormed();
  const end = text.slice(-MAX_TEXT_CHARS * 0.25).toWellFormed();
  const path = await storeOutput(text.toWellFormed());
  const way = path === undefined ? 'they are lost; ask for less' : `${READ_TOOL} ${path} shows them`;
  return `${start}\n[… ${text.length - start.length - end.length} characters are left out here; ${way} …]\n${end}`;
}

function isSameJson(text: string, json: string): boolean {
  if (text.length > 2 * json.length + 1000) return false;
  try {
    return JSON.stringify(JSON.parse(text)) === json;
  } catch {
    return false;
  }
}
