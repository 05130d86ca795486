import { join } from 'node:path';
import { isObject, tryParseJson } from '../core/json.ts';
import { readSmallFile } from '../platform/files/small-file.ts';

/** Never throws: a broken list disables nothing, and a notice says so. */
export function readServerEnablement(geminiHome: string) {
  const file = join(geminiHome, 'mcp-server-enablement.json');
  const isOff = (entries: unknown, server: string): boolean => {
    const key = toEnablementKey(server);
    const entry = isObject(entries) && Object.hasOwn(entries, key) ? entries[key] : undefined;
    return isObject(entry) && entry.enabled === false;
  };
  try {
    const text = readSmallFile(file);
    const entries = text === undefined || text.trim() === '' ? {} : tryParseJson(text);
    const notices = isObject(entries) ? [] : [`${file} is not used: it is not a JSON object`];
    return { file, isDisabled: (server: string) => isOff(entries, server), notices };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return { file, isDisabled: () => false, notices: [`${file} is not used: ${why}`] };
  }
}

export function toEnablementKey(server: string): string {
  return server.toLowerCase().trim();
}
