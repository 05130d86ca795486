import { isObject, parseJson } from '../core/json.ts';
import { readStateFile } from '../platform/files/small-file.ts';

/** Which MCP servers `gemini mcp disable` has turned off, for every program that shares these settings. */
interface ServerEnablement {
  readonly file: string;
  isDisabled(server: string): boolean;
  readonly notices: readonly string[];
}

/** Reads the official CLI's list of servers that are turned off. A broken list turns off nothing, and is told of. */
export function readServerEnablement(geminiHome: string): ServerEnablement {
  const file = `${geminiHome}/mcp-server-enablement.json`;
  const off = (entries: unknown, server: string): boolean => {
    const key = enablementKey(server);
    const entry = isObject(entries) && Object.hasOwn(entries, key) ? entries[key] : undefined;
    return isObject(entry) && entry.enabled === false;
  };
  try {
    const text = readStateFile(file);
    const entries = text === undefined || text.trim() === '' ? {} : parseJson(text);
    const notices = isObject(entries) ? [] : [`${file} is not used: it is no JSON object`];
    return { file, isDisabled: (server) => off(entries, server), notices };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return { file, isDisabled: () => false, notices: [`${file} is not used: ${why}`] };
  }
}

/** How the official CLI writes a server's name in that file. */
export function enablementKey(server: string): string {
  return server.toLowerCase().trim();
}
