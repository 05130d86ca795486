import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';

/** Flat keys of the official CLI's first format that older files still hold, and where gmn looks for them today. */
const MOVED: Readonly<Record<string, string>> = {
  model: 'model.name',
  selectedAuthType: 'security.auth.selectedType',
  enforcedAuthType: 'security.auth.enforcedType',
  folderTrust: 'security.folderTrust.enabled',
  contextFileName: 'context.fileName',
  includeDirectories: 'context.includeDirectories',
  fileFiltering: 'context.fileFiltering',
  coreTools: 'tools.core',
  allowedTools: 'tools.allowed',
  excludeTools: 'tools.exclude',
  mcpServerCommand: 'mcp.serverCommand',
  allowMCPServers: 'mcp.allowed',
  excludeMCPServers: 'mcp.excluded',
};

/** Where keys of the first format are looked for today. */
export function movedKeys(): readonly string[] {
  return Object.values(MOVED);
}

/** The same settings under today's keys. A key that is set in both ways keeps today's; everything else is untouched. */
export function modernised(document: JsonObject): JsonObject {
  let result = document;
  for (const [old, today] of Object.entries(MOVED)) {
    if (!Object.hasOwn(document, old)) continue;
    const { [old]: value, ...rest } = result;
    // `model` is an object in today's format; only a bare name is the old one.
    if (value === undefined || (old === 'model' && typeof value !== 'string')) continue;
    result = withDefault(rest, today.split('.'), value) ?? result;
  }
  return result;
}

/** The old key that may stand for a path of today's, or for the path's beginning. */
export function oldKeyFor(path: readonly string[]): string | undefined {
  const key = path.join('.');
  return Object.entries(MOVED).find(([, today]) => key === today || key.startsWith(`${today}.`))?.[0];
}

/** Undefined if the path leads through something that is no object: then the document is wrong in a way others report. */
function withDefault(document: JsonObject, path: readonly string[], value: JsonValue): JsonObject | undefined {
  const [key = '', ...rest] = path;
  const current = document[key];
  if (rest.length === 0) return current === undefined ? { ...document, [key]: value } : document;
  if (current !== undefined && !isObject(current)) return undefined;
  const inner = withDefault(current ?? {}, rest, value);
  return inner && { ...document, [key]: inner };
}
