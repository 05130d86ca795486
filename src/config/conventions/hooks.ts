import type { HookSource } from '../../core/app.ts';
import { filterObjects, isList, isObject, type JsonObject, toNonEmptyString } from '../../core/json.ts';
import { compilePattern } from '../../core/text/pattern.ts';

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
}

/** No hook gets longer. */
const MAX_MS = 60_000;

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
    for (const entry of listHookEntries(written)) {
      const why = findFault(entry);
      if (why !== undefined) faults.push({ name: entry.name, file, why });
      else hooks.push({ ...toHook(entry), scope, file });
    }
    faults.push(...findStrayEvents(written).map((name) => ({ name, file, why: 'gmn has no such event' })));
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

export function listHookEntries(hooks: JsonObject): readonly HookEntry[] {
  const names = new Set<string>();
  const choose = (wanted: string): string => {
    let name = wanted;
    for (let count = 2; names.has(name); count += 1) name = `${wanted} (${count})`;
    names.add(name);
    return name;
  };
  return Object.entries(hooks).flatMap(([writtenEvent, groups]) => {
    if (toHookEvent(writtenEvent) === undefined || !isList(groups)) return [];
    return groups
      .flatMap((group) =>
        isObject(group)
          ? filterObjects(group.hooks).map((definition) => ({
              writtenEvent,
              matcher: group.matcher as HookEntry['matcher'],
              definition: definition as JsonObject,
            }))
          : [],
      )
      .map((entry, index) => ({
        ...entry,
        name: choose(`${writtenEvent} ${toNonEmptyString(entry.definition.name) ?? index + 1}`),
      }));
  });
}

function findStrayEvents(hooks: JsonObject): readonly string[] {
  return Object.keys(hooks).filter((name) => toHookEvent(name) === undefined && !NO_EVENTS.includes(name));
}

function toHookEvent(written: string): HookEvent | undefined {
  return (Object.keys(EVENTS) as HookEvent[]).find((event) => event === written || EVENTS[event] === written);
}

function findFault({ definition, matcher }: HookEntry): string | undefined {
  const { type = 'command', command } = definition;
  if (type !== 'command') return `gmn runs hooks of type "command" only, not ${JSON.stringify(type)}`;
  if (typeof command !== 'string' || command.trim() === '') return 'it has no command';
  if (matcher === undefined) return undefined;
  return typeof matcher === 'string' && isPattern(matcher) ? undefined : 'its matcher is no regular expression';
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
