import { AppError } from '../core/error.ts';
import { isObject, type JsonObject } from '../core/json.ts';
import { findValue } from './keys.ts';

/** Keys of the official CLI that gmn does not read, and that change what a run does or may do: `gmn doctor` names them. */
const AFFECTING: readonly string[] = [
  'model.maxSessionTurns',
  'model.summarizeToolOutput',
  'context.includeDirectories',
  'context.fileFiltering',
  'tools.allowed',
  'tools.confirmationRequired',
  'tools.discoveryCommand',
  'tools.callCommand',
  'security.disableAlwaysAllow',
  'security.environmentVariableRedaction',
  'experimental',
];

/** Its other keys, about its screen and upkeep. Those below a key that gmn does not read at all need no row. */
const OTHERS: readonly string[] = [
  '$schema',
  'ui',
  'ide',
  'privacy',
  'telemetry',
  'billing',
  'advanced',
  'admin',
  'hooksConfig.notifications',
  'contextManagement',
  'policies',
  'useWriteTodos',
  'general.preferredEditor',
  'general.vimMode',
  'general.devtools',
  'general.enableAutoUpdate',
  'general.enableAutoUpdateNotification',
  'general.checkpointing',
  'general.plan',
  'general.retryFetchErrors',
  'general.debugKeystrokeLogging',
  'general.sessionRetention',
  'general.topicUpdateNarration',
  'model.skipNextSpeakerCheck',
  'model.disableLoopDetection',
  'context.importFormat',
  'context.includeDirectoryTree',
  'context.memoryBoundaryMarkers',
  'context.discoveryMaxDirs',
  'tools.useRipgrep',
  'tools.truncateToolOutputThreshold',
  'tools.disableLLMCorrection',
  'tools.shell',
  'security.auth.useExternal',
  'security.allowedExtensions',
  'security.blockGitExtensions',
];

/** The settings of the official CLI 0.61 that gmn does not read. Those that both read are among `KEYS`. */
export const OFFICIAL_KEYS: readonly string[] = [...AFFECTING, ...OTHERS];

export function findUnreadKeys(document: JsonObject): readonly string[] {
  return AFFECTING.filter((key) => {
    const value = findValue(document, key.split('.'));
    // What sets nothing changes nothing.
    return value !== undefined && !(isObject(value) && Object.keys(value).length === 0);
  });
}

/** Whether the official CLI has this key, or the one it is inside of, and gmn does not read it. */
export function isOfficialKey(key: string): boolean {
  return OFFICIAL_KEYS.some((known) => known === key || key.startsWith(`${known}.`));
}

export function officialKeyError(key: string, hint: string): AppError {
  return new AppError('usage', `${key} is a setting of the official CLI, which gmn does not read`, { hint });
}
