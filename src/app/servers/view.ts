import { hideSecrets } from '../../config/secrets.ts';
import { describeServer, type ServerDescription } from '../../config/servers.ts';
import type { AppError } from '../../core/error.ts';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { ServerEntry, ServerState } from '../../engine/tools/servers/roster.ts';

const MAX_ROW_CHARS = 200;

function redactDefinition({ name, written }: Pick<ServerEntry, 'name' | 'written'>): JsonValue {
  return hideSecrets(written, ['mcpServers', name]);
}

export function describeEntry(entry: Pick<ServerEntry, 'name' | 'written'>): ServerDescription {
  return describeServer({ name: entry.name, definition: redactDefinition(entry), hash: '' });
}

export function formatRowLine({ commandLine }: ServerDescription): string {
  return commandLine.length > MAX_ROW_CHARS ? `${commandLine.slice(0, MAX_ROW_CHARS)}…` : commandLine;
}

export function formatTransport({ written }: Pick<ServerEntry, 'written'>): string {
  if (!isObject(written)) return typeof written === 'string' ? 'stdio' : '–';
  if (written.command !== undefined) return 'stdio';
  if (written.httpUrl !== undefined) return 'http';
  if (written.url === undefined) return '–';
  return typeof written.type === 'string' ? sanitize(written.type) : 'url';
}

/** In the words of `mcp add --scope`. */
export function formatServerScope({ scope }: Pick<ServerEntry, 'scope'>): string {
  return scope === 'workspace' ? 'project' : scope;
}

export function formatState(state: ServerState): string {
  if (state.kind === 'faulty') return `faulty: ${sanitize(state.why)}`;
  if (state.kind === 'unapproved') return 'not approved, run: gmn trust';
  return state.kind === 'disabled' ? state.why : '';
}

export function toEntryJson(entry: ServerEntry): JsonObject {
  const { name, file, state } = entry;
  const hidden = redactDefinition(entry);
  return {
    name,
    scope: formatServerScope(entry),
    file,
    kind: formatTransport(entry),
    state: state.kind,
    why: state.kind === 'faulty' || state.kind === 'disabled' ? state.why : undefined,
    definition: isObject(hidden) ? hidden : {},
  };
}

export function toErrorJson({ shortMessage: message, hint }: AppError): JsonObject {
  return { message, suggestion: hint };
}

export function formatFirstLine(text: string, limit = 100): string {
  const line = sanitize(text.trim().split(/[\r\n]/, 1)[0] ?? '');
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

export function sanitizeLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\t').map(sanitize).join('\t'))
    .join('\n');
}

export function formatChangedHint(server: string): string {
  return `a changed tool is not offered to the model; to review and allow it, run in a terminal: gmn mcp tools ${sanitize(server)}`;
}
