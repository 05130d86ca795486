import { basename, dirname } from 'node:path';
import type { HookSource } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isList, isObject, isTooDeep, type JsonObject, toNonEmptyString, tryParseJson } from '../../core/json.ts';
import { findNearestNames } from '../../core/text/names.ts';
import { compilePattern } from '../../core/text/pattern.ts';
import { readSmallFile } from '../../platform/files/small-file.ts';

/** By the official CLI's names, each with what Claude Code calls it. */
const EVENTS = {
  BeforeTool: 'PreToolUse',
  AfterTool: 'PostToolUse',
  BeforeAgent: 'UserPromptSubmit',
  AfterAgent: 'Stop',
  SessionStart: 'SessionStart',
  SessionEnd: 'SessionEnd',
  PreCompress: 'PreCompact',
  Notification: 'Notification',
} as const;

export type HookEvent = keyof typeof EVENTS;

/** A command of the settings that is run at an event. */
export interface Hook {
  readonly event: HookEvent;
  /** As it is written: scripts look at this name. */
  readonly writtenEvent: string;
  /** Whether its names, units and tool names are those of Claude Code. */
  readonly isClaude: boolean;
  /** Absent: it is run for all. */
  readonly matcher?: string;
  readonly command: string;
  readonly name: string;
  readonly timeoutMs: number;
  readonly scope: HookSource['scope'];
  readonly file: string;
  /** What `gmn trust` has approved, if a folder brings it. */
  readonly entry: HookEntry;
}

export interface HookFault {
  readonly name: string;
  readonly file: string;
  readonly why: string;
  /** Only doctor names it. */
  readonly isQuiet?: boolean;
}

/** No hook gets longer. */
const MAX_MS = 60_000;

/** Events of the two programs at which gmn runs nothing. https://code.claude.com/docs/en/hooks */
const OTHER_EVENTS = [
  ...['BeforeModel', 'AfterModel', 'BeforeToolSelection', 'PostToolUseFailure', 'PostToolBatch', 'PermissionRequest'],
  ...[
    'PermissionDenied',
    'UserPromptExpansion',
    'StopFailure',
    'SubagentStart',
    'SubagentStop',
    'PostCompact',
    'Setup',
  ],
  ...['Elicitation', 'ElicitationResult', 'TeammateIdle', 'TaskCreated', 'TaskCompleted', 'InstructionsLoaded'],
  ...['CwdChanged', 'FileChanged', 'ConfigChange', 'WorktreeCreate', 'WorktreeRemove', 'PreModelSwitch'],
  ...['PostModelSwitch', 'MessageDisplay', 'DirectoryAdded'],
];

/** Keys of older settings that stand beside the events. */
const NO_EVENTS = ['enabled', 'disabled', 'notifications'];

/** Never throws: what is faulty is named. */
export function parseHooks(sources: readonly HookSource[]): {
  readonly hooks: readonly Hook[];
  readonly faults: readonly HookFault[];
} {
  const hooks: Hook[] = [];
  const faults: HookFault[] = [];
  for (const { hooks: written, scope, file } of sources) {
    const { entries, faults: unread } = readHookEntries(written);
    for (const entry of entries) {
      const why = findFault(entry);
      if (why !== undefined) faults.push({ name: entry.name, file, why });
      else hooks.push({ ...toHook(entry), scope, file });
    }
    faults.push(
      ...unread.map(({ name, why, isOther }) => ({ name, file, why, isQuiet: isOther && isClaudeFile(file) })),
    );
  }
  return { hooks, faults };
}

/** One command, with what stands around it. */
export interface HookEntry {
  readonly writtenEvent: string;
  readonly matcher: JsonObject[string];
  readonly definition: JsonObject;
  /** `BeforeTool check`, or `BeforeTool 2` without a name. Unique among the hooks of one file. */
  readonly name: string;
}

export interface HookEntries {
  readonly entries: readonly HookEntry[];
  /** What nobody could run, and why. */
  readonly faults: readonly {
    readonly name: string;
    readonly why: string;
    /** It is an event that only the other program has. */
    readonly isOther?: boolean;
  }[];
}

const GROUP = 'it must be {"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}';

export function readHookEntries(hooks: JsonObject): HookEntries {
  const names = new Set<string>();
  const choose = (wanted: string): string => {
    let name = wanted;
    for (let count = 2; names.has(name); count += 1) name = `${wanted} (${count})`;
    names.add(name);
    return name;
  };
  const entries: HookEntry[] = [];
  const faults: HookEntries['faults'][number][] = [];
  for (const [writtenEvent, groups] of Object.entries(hooks)) {
    if (NO_EVENTS.includes(writtenEvent)) continue;
    if (toHookEvent(writtenEvent) === undefined) {
      const isOther = OTHER_EVENTS.includes(writtenEvent);
      faults.push({
        name: writtenEvent,
        why: isOther ? 'gmn runs no hooks at it' : explainEvent(writtenEvent),
        isOther,
      });
      continue;
    }
    for (const [index, { matcher, definition }] of listDefinitions(groups).entries()) {
      const name = `${writtenEvent} ${toNonEmptyString(definition?.name) ?? index + 1}`;
      if (definition === undefined) faults.push({ name, why: GROUP });
      else entries.push({ writtenEvent, matcher, definition, name: choose(name) });
    }
  }
  return { entries, faults };
}

/** Those of all groups of an event; undefined for what is not one. */
function listDefinitions(
  groups: JsonObject[string],
): readonly (Pick<HookEntry, 'matcher'> & { definition?: JsonObject })[] {
  if (!isList(groups)) return [{ matcher: undefined }];
  return groups.flatMap((group): ReturnType<typeof listDefinitions> => {
    if (!isObject(group) || !isList(group.hooks)) return [{ matcher: undefined }];
    const matcher = group.matcher as HookEntry['matcher'];
    return group.hooks.map((each) => ({ matcher, definition: isObject(each) ? (each as JsonObject) : undefined }));
  });
}

function explainEvent(written: string): string {
  const names = Object.entries(EVENTS).flat();
  const [near] = findNearestNames(written, names);
  return near === undefined ? 'there is no such event' : `there is no such event: did you mean ${near}?`;
}

/** In Claude Code's own file, events that only Claude Code has are no mistake. */
export function isClaudeFile(file: string): boolean {
  return basename(dirname(file)) === '.claude';
}

/** The hooks of a file of Claude Code, of which gmn reads nothing else. Throws AppError `config`. */
export function readClaudeHooks(file: string): JsonObject | undefined {
  const text = readSmallFile(file);
  if (text === undefined) return undefined;
  const value = tryParseJson(text.replace(/^\uFEFF/, ''));
  if (!isObject(value) || isTooDeep(value)) throw new AppError('config', 'it is not a JSON object');
  const { hooks, disableAllHooks } = value;
  return isObject(hooks) && disableAllHooks !== true && Object.keys(hooks).length > 0
    ? (hooks as JsonObject)
    : undefined;
}

function toHookEvent(written: string): HookEvent | undefined {
  return (Object.keys(EVENTS) as HookEvent[]).find((event) => event === written || EVENTS[event] === written);
}

function findFault({ definition, matcher }: HookEntry): string | undefined {
  const { type = 'command', command } = definition;
  if (type !== 'command') return `gmn runs hooks of type "command" only, not ${JSON.stringify(type)}`;
  if (typeof command !== 'string' || command.trim() === '') return 'it has no command';
  if (matcher === undefined) return undefined;
  return typeof matcher === 'string' && isPattern(matcher)
    ? undefined
    : 'its matcher is not a valid regular expression';
}

function isPattern(matcher: string): boolean {
  try {
    return matcher === '*' || compilePattern(matcher, '') !== undefined;
  } catch {
    return false;
  }
}

function toHook(entry: HookEntry): Omit<Hook, 'scope' | 'file'> {
  const { writtenEvent, matcher, definition, name } = entry;
  const event = toHookEvent(writtenEvent) ?? 'Notification';
  const isClaude = !Object.hasOwn(EVENTS, writtenEvent);
  const { timeout, command = '' } = definition;
  // Claude Code has seconds, the official CLI milliseconds; where the event's name is the same in both, nobody means less than a second.
  const isSeconds = isClaude || (EVENTS[event] === event && Number(timeout) < 1000);
  const given = typeof timeout === 'number' && timeout > 0 ? timeout * (isSeconds ? 1000 : 1) : MAX_MS;
  const isForAll = typeof matcher !== 'string' || matcher === '' || matcher === '*';
  return {
    ...{ event, writtenEvent, isClaude, name, command: String(command), entry },
    matcher: isForAll ? undefined : matcher,
    timeoutMs: Math.min(given, MAX_MS),
  };
}

/** Enough for any name against any sensible pattern. */
const MAX_STEPS = 1_000_000;

/**
 * Whether one of the names matches. As in their programs, a pattern of Claude Code must match the whole name, one of the official
 * CLI a part of it.
 */
export function matchesHook(
  { matcher, isClaude }: Pick<Hook, 'matcher' | 'isClaude'>,
  names: readonly string[],
): boolean {
  if (matcher === undefined) return true;
  try {
    const pattern = compilePattern(isClaude ? `^(?:${matcher})$` : matcher, '');
    return names.some((name) => pattern.test(name, { left: MAX_STEPS }));
  } catch {
    // Too many steps: the hook may be meant, and then it must not be left out.
    return true;
  }
}
