import { relative, resolve } from 'node:path';
import type { HookSource } from '../../core/app.ts';
import { canonicalJson, filterObjects, isList, isObject, type JsonObject, toNonEmptyString } from '../../core/json.ts';
import { contains, leadsAway, toSlashes } from '../../core/text/path.ts';
import { compilePattern } from '../../core/text/pattern.ts';
import { realPath } from '../../platform/files/path.ts';
import { tryReadSmallFile } from '../../platform/files/small-file.ts';
import { sha256 } from '../../platform/runtime/native.ts';

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
interface HookEntry {
  readonly writtenEvent: string;
  readonly group: number;
  readonly index: number;
  readonly matcher: JsonObject[string];
  readonly definition: JsonObject;
  /** `BeforeTool check`, or `BeforeTool 2` without a name. Unique among the hooks of one file. */
  readonly name: string;
}

function listHookEntries(hooks: JsonObject): readonly HookEntry[] {
  return Object.entries(hooks).flatMap(([writtenEvent, groups]) => {
    if (toHookEvent(writtenEvent) === undefined || !isList(groups)) return [];
    const found = groups.flatMap((group, groupIndex) =>
      isObject(group)
        ? filterObjects(group.hooks).map((definition, index) => ({
            writtenEvent,
            group: groupIndex,
            index,
            matcher: group.matcher as HookEntry['matcher'],
            definition: definition as JsonObject,
          }))
        : [],
    );
    const names = found.map(({ definition }, index) => toNonEmptyString(definition.name) ?? String(index + 1));
    return found.map((entry, index) => {
      const isTwice = names.indexOf(names[index] ?? '') !== index;
      return { ...entry, name: `${writtenEvent} ${names[index]}${isTwice ? ` (${index + 1})` : ''}` };
    });
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

function toHook({ writtenEvent, matcher, definition, name }: HookEntry): Omit<Hook, 'scope' | 'file'> {
  const event = toHookEvent(writtenEvent) ?? 'Notification';
  const isClaude = !Object.hasOwn(EVENTS, writtenEvent);
  const { timeout, command = '' } = definition;
  // Claude Code has seconds, the official CLI milliseconds; where the event's name is the same in both, nobody means less than a second.
  const isSeconds = isClaude || (EVENTS[event] === event && Number(timeout) < 1000);
  const given = typeof timeout === 'number' && timeout > 0 ? timeout * (isSeconds ? 1000 : 1) : MAX_MS;
  const isForAll = typeof matcher !== 'string' || matcher === '' || matcher === '*';
  return {
    ...{ event, writtenEvent, isClaude, name, command: String(command) },
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
  const pattern = compilePattern(isClaude ? `^(?:${matcher})$` : matcher, '');
  return names.some((name) => pattern.test(name, { left: MAX_STEPS }));
}

/** A hook that a folder's settings bring. */
export interface FolderHook {
  readonly kind: 'hooks';
  readonly name: string;
  readonly hash: string;
  readonly command: string;
  readonly matcher?: string;
  /** The files of the folder that its command names, relative to it: a change of these is a change of the hook. */
  readonly scripts: readonly string[];
}

/** `folder` without links. */
export function listFolderHooks(document: JsonObject, folder: string): readonly FolderHook[] {
  const { hooks } = document;
  return (isObject(hooks) ? listHookEntries(hooks as JsonObject) : []).map((entry) => toFolderHook(entry, folder));
}

function toFolderHook({ writtenEvent, name, matcher, definition }: HookEntry, folder: string): FolderHook {
  const command = typeof definition.command === 'string' ? definition.command : '';
  const scripts = findScripts(command, folder);
  const hash = sha256(
    [
      canonicalJson({ event: writtenEvent, matcher: matcher ?? null, definition }),
      ...scripts.map(({ path, hash: each }) => `${path} ${each}`),
    ].join('\n'),
  );
  return {
    kind: 'hooks',
    name,
    hash,
    command,
    matcher: toNonEmptyString(matcher),
    scripts: scripts.map(({ path }) => path),
  };
}

const MAX_WORDS = 200;

/** Each word that is the path of a file in the folder. Not every script is found: a command can build its path. */
function findScripts(command: string, folder: string): readonly { readonly path: string; readonly hash: string }[] {
  const plain = command.replace(/["']/g, '').replace(/\$\{?(?:GEMINI|CLAUDE)_PROJECT_DIR\}?/g, () => folder);
  const words = new Set(
    plain
      .split(/[\s;|&()<>=]+/)
      .filter((word) => word !== '')
      .slice(0, MAX_WORDS),
  );
  const found = [...words].flatMap((word) => {
    const real = leadsAway(word, [folder]) ? undefined : realPath(resolve(folder, word));
    const text = real === undefined || !contains(folder, real) || real === folder ? undefined : tryReadSmallFile(real);
    return real === undefined || text === undefined
      ? []
      : [{ path: toSlashes(relative(folder, real)), hash: sha256(text) }];
  });
  return found;
}

/** Leaves out what is not approved. */
export function restrictHooks(document: JsonObject, approved: readonly string[]): JsonObject {
  const { hooks, ...rest } = document;
  if (!isObject(hooks)) return document;
  const entries = listHookEntries(hooks as JsonObject).filter(({ name }) => approved.includes(name));
  const events = [...new Set(entries.map(({ writtenEvent }) => writtenEvent))];
  const kept = events.map((event) => {
    const own = entries.filter(({ writtenEvent }) => writtenEvent === event);
    return [
      event,
      own.map(({ matcher, definition }) => ({ ...(matcher === undefined ? {} : { matcher }), hooks: [definition] })),
    ] as const;
  });
  return { ...rest, hooks: Object.fromEntries(kept) };
}
