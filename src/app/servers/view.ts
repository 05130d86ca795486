import { withoutSecrets } from '../../config/secrets.ts';
import { describeServer, type ServerDescription } from '../../config/servers.ts';
import type { AppError } from '../../core/error.ts';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { visible } from '../../core/text/terminal.ts';
import type { ServerEntry, ServerState } from './roster.ts';

const MAX_ROW = 200;

/** A definition as it stands in its file, every value that may be a secret hidden. */
function hiddenDefinition({ name, written }: Pick<ServerEntry, 'name' | 'written'>): JsonValue {
  return withoutSecrets(written, ['mcpServers', name]);
}

/** A server for a person: the name, what is started or called, and the rest; nothing in it a terminal would obey. */
export function shownServer(entry: Pick<ServerEntry, 'name' | 'written'>): ServerDescription {
  return describeServer({ name: entry.name, definition: hiddenDefinition(entry), hash: '' });
}

/** The command line or address for a row of a table, cut to what a person takes in. */
export function rowLine({ commandLine }: ServerDescription): string {
  return commandLine.length > MAX_ROW ? `${commandLine.slice(0, MAX_ROW)}…` : commandLine;
}

/** How a server is reached, in one word; `–` if its definition does not say. */
export function kindOf({ written }: Pick<ServerEntry, 'written'>): string {
  if (!isObject(written)) return typeof written === 'string' ? 'stdio' : '–';
  if (written.command !== undefined) return 'stdio';
  if (written.httpUrl !== undefined) return 'http';
  if (written.url === undefined) return '–';
  return typeof written.type === 'string' ? visible(written.type) : 'url';
}

/** Whose file a server is defined in, in the words of `mcp add --scope`. */
export function scopeWord({ scope }: Pick<ServerEntry, 'scope'>): string {
  return scope === 'workspace' ? 'project' : scope;
}

/** What is the matter with a server that cannot be used, in a few words; empty if nothing is. */
export function stateWords(state: ServerState): string {
  if (state.kind === 'faulty') return `faulty: ${visible(state.why)}`;
  if (state.kind === 'unapproved') return 'not approved, run: gmn trust';
  return state.kind === 'disabled' ? state.why : '';
}

/** A server as data, secrets hidden. */
export function entryJson(entry: ServerEntry): JsonObject {
  const { name, file, state } = entry;
  const hidden = hiddenDefinition(entry);
  const why = state.kind === 'faulty' || state.kind === 'disabled' ? { why: state.why } : {};
  return {
    name,
    scope: scopeWord(entry),
    file,
    kind: kindOf(entry),
    state: state.kind,
    ...why,
    definition: isObject(hidden) ? hidden : {},
  };
}

/** A failure as data. */
export function errorJson({ words, hint }: AppError): JsonObject {
  return { message: words, ...(hint === undefined ? {} : { suggestion: hint }) };
}

/** The first line of an untrusted text, cut to what fits beside a name. */
export function firstLine(text: string, limit = 100): string {
  const line = visible(text.trim().split(/[\r\n]/, 1)[0] ?? '');
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** An untrusted text of several lines: the lines stay, and nothing else that cannot be seen does. */
export function visibleLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\t').map(visible).join('\t'))
    .join('\n');
}

/** What to do about tools that are not offered since they say something else about themselves than before. */
export function changedWords(server: string): string {
  return `a changed tool is not offered to the model; to look and allow it, run on a terminal: gmn mcp tools ${visible(server)}`;
}
