import { withoutSecrets } from '../../config/secrets.ts';
import { describeServer, type ServerDescription } from '../../config/servers.ts';
import type { AppError } from '../../core/error.ts';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { visible } from '../../core/text/terminal.ts';
import type { ServerEntry, ServerState } from './roster.ts';

const MAX_ROW = 200;

/** The definition as written, with every possible secret redacted. */
function hiddenDefinition({ name, written }: Pick<ServerEntry, 'name' | 'written'>): JsonValue {
  return withoutSecrets(written, ['mcpServers', name]);
}

/** A server for a person: name, command or address, and details; sanitized. */
export function shownServer(entry: Pick<ServerEntry, 'name' | 'written'>): ServerDescription {
  return describeServer({ name: entry.name, definition: hiddenDefinition(entry), hash: '' });
}

/** The command line or address, shortened for a row of a table. */
export function rowLine({ commandLine }: ServerDescription): string {
  return commandLine.length > MAX_ROW ? `${commandLine.slice(0, MAX_ROW)}…` : commandLine;
}

/** The transport in one word; `–` if the definition does not say. */
export function kindOf({ written }: Pick<ServerEntry, 'written'>): string {
  if (!isObject(written)) return typeof written === 'string' ? 'stdio' : '–';
  if (written.command !== undefined) return 'stdio';
  if (written.httpUrl !== undefined) return 'http';
  if (written.url === undefined) return '–';
  return typeof written.type === 'string' ? visible(written.type) : 'url';
}

/** The scope, in the words of `mcp add --scope`. */
export function scopeWord({ scope }: Pick<ServerEntry, 'scope'>): string {
  return scope === 'workspace' ? 'project' : scope;
}

/** Why a server cannot be used, in a few words; empty if it can. */
export function stateWords(state: ServerState): string {
  if (state.kind === 'faulty') return `faulty: ${visible(state.why)}`;
  if (state.kind === 'unapproved') return 'not approved, run: gmn trust';
  return state.kind === 'disabled' ? state.why : '';
}

/** Secrets are redacted. */
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

export function errorJson({ words, hint }: AppError): JsonObject {
  return { message: words, ...(hint === undefined ? {} : { suggestion: hint }) };
}

/** The first line of an untrusted text, sanitized and shortened. */
export function firstLine(text: string, limit = 100): string {
  const line = visible(text.trim().split(/[\r\n]/, 1)[0] ?? '');
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** Sanitizes an untrusted text, keeping its line breaks and tabs. */
export function visibleLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\t').map(visible).join('\t'))
    .join('\n');
}

export function changedWords(server: string): string {
  return `a changed tool is not offered to the model; to look and allow it, run on a terminal: gmn mcp tools ${visible(server)}`;
}
