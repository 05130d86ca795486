import type { JsonObject } from '../core/json.ts';
import type { Permission } from '../core/permission.ts';
import { beginsWith, listProgramNames } from '../core/text/command-line.ts';
import type { CommandCall, Tool } from '../core/tool.ts';
import type { ResolvedPart } from './command-parts.ts';

/** A permission, or one that ends with the run: changes of a file, and reading one that may hold secrets, by real path. */
export type Grant =
  | Permission
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'secret'; readonly path: string };

/** What an answer covers: what `Scope` says, commands with the same first words, a server, a file. */
export type Reach = 'scope' | 'prefix' | 'server' | 'file';

/** `edits`: all of them; `tool`: every call of this tool; `hosts`: calls that reach these hosts only; `command`: this very command in this directory; `call`: this very file; `once`: nothing. */
export type Scope = 'edits' | 'tool' | 'hosts' | 'command' | 'call' | 'once';

/** What a person can allow beyond the call they are asked about. */
export interface Offer {
  readonly scope: Scope;
  /** Commands that begin with these words. */
  readonly words?: readonly string[];
  /** All tools of this MCP server. */
  readonly server?: string;
  /** What it would destroy: no key is a yes then, a word is typed. */
  readonly harm?: string;
}

export interface ResolvedCall {
  readonly tool: Tool;
  readonly args: JsonObject;
  /** The real path of the file it would read, if that file likely holds keys or passwords. */
  readonly secret?: string;
  /** The real path of the file it would write, if it writes one. */
  readonly target?: string;
  /** Whether a person must be asked about each change of that file, in every mode: nothing allows it for later. */
  readonly isGuarded?: boolean;
  /** The real path of the directory it would run in, if it runs a command in one. */
  readonly directory?: string;
  /** The programs of its command; undefined if not all of it is understood. */
  readonly parts?: readonly ResolvedPart[];
  /** What its command would destroy, of what `findHarm` knows; commands that are confined have none. */
  readonly harm?: string;
  /** The sub-agent that calls. */
  readonly agent?: string;
}

export function toScope({ tool, args, secret, isGuarded }: ResolvedCall): Scope {
  if (isGuarded) return 'once';
  if (secret !== undefined) return 'call';
  if (tool.remote !== undefined) return 'tool';
  if (tool.effect === 'write') return 'edits';
  if (tool.findHosts !== undefined) return 'hosts';
  return tool.findCommand?.(args) === undefined ? 'tool' : 'command';
}

/** `p` stands in the row of keys. */
const MAX_PREFIX = 60;

/** The words of `p`; undefined if it is not offered. */
export function findPrefix(call: ResolvedCall): readonly string[] | undefined {
  const [part, ...others] = findForegroundParts(call) ?? [];
  if (part?.allows?.offered === undefined || others.length > 0) return undefined;
  const words = part.words.slice(0, part.allows.offered);
  return words.join(' ').length > MAX_PREFIX ? undefined : words;
}

/** Undefined if the call has nothing of that reach, or is one that is asked about each time. */
export function createGrant(call: ResolvedCall, reach: Reach): Grant | undefined {
  const { tool, args, secret, target } = call;
  if (call.isGuarded) return undefined;
  if (reach === 'file') return target === undefined ? undefined : { kind: 'file', path: target };
  if (reach === 'prefix') {
    const words = findPrefix(call);
    // Elsewhere it could be another program, and runs other code.
    return words && { kind: 'prefix', words, directory: findRunDirectory(call) };
  }
  if (reach === 'server') {
    if (tool.remote === undefined) return undefined;
    const { server, fingerprint } = tool.remote;
    return { kind: 'server', server, fingerprint };
  }
  if (secret !== undefined) return { kind: 'secret', path: secret };
  if (tool.remote !== undefined) return { kind: 'server-tool', ...tool.remote };
  if (tool.effect === 'write') return { kind: 'edits' };
  if (tool.findHosts !== undefined) {
    const hosts = tool.findHosts(args);
    return hosts && { kind: 'hosts', tool: tool.name, hosts };
  }
  const command = tool.findCommand?.(args);
  if (command === undefined) return { kind: 'tool', tool: tool.name };
  return toCommandGrant(command, call);
}

function toCommandGrant({ command, isBackground }: CommandCall, call: ResolvedCall): Grant {
  const exact = { kind: 'command', command, directory: findRunDirectory(call) } as const;
  return isBackground ? { ...exact, isBackground } : exact;
}

/** As spelled only if nobody resolves it. */
function findRunDirectory({ tool, args, directory }: ResolvedCall): string {
  return directory ?? tool.findPath?.(args) ?? '.';
}

/** One matcher for all that was ever allowed. The parts of a command may each be covered by other words. */
export function isGranted(grants: readonly Grant[], call: ResolvedCall): boolean {
  if (call.isGuarded) return false;
  const isHere = (directory: string | undefined): boolean =>
    (directory ?? findRunDirectory(call)) === findRunDirectory(call);
  const prefixes = grants.flatMap((grant) => (grant.kind === 'prefix' && isHere(grant.directory) ? [grant.words] : []));
  return (
    grants.some((grant) => coversCall(grant, call)) || coversByWords(prefixes, call) || coversByHosts(grants, call)
  );
}

/** A file that may hold secrets is covered by an answer about that file alone. */
function coversCall(grant: Grant, call: ResolvedCall): boolean {
  const { tool, args, secret, target } = call;
  if (secret !== undefined || grant.kind === 'secret') return grant.kind === 'secret' && grant.path === secret;
  switch (grant.kind) {
    // The first is a mode, which the person can leave again; the others are for the parts of a call.
    case 'edits':
    case 'prefix':
    case 'hosts':
      return false;
    case 'file':
      return grant.path === target;
    case 'tool':
      return tool.remote === undefined && grant.tool === tool.name;
    case 'server':
    case 'server-tool':
      return (
        grant.server === tool.remote?.server &&
        grant.fingerprint === tool.remote.fingerprint &&
        (grant.kind === 'server' || grant.tool === tool.remote.tool)
      );
    case 'command': {
      const command = tool.findCommand?.(args);
      return (
        command !== undefined &&
        command.command === grant.command &&
        command.isBackground === (grant.isBackground ?? false) &&
        findRunDirectory(call) === grant.directory
      );
    }
  }
}

/** Whether words that are allowed cover each part of the command. */
function coversByWords(prefixes: readonly (readonly string[])[], call: ResolvedCall): boolean {
  const parts = findForegroundParts(call);
  return parts?.every((part) => prefixes.some((words) => coversPart(words, part))) ?? false;
}

/** Whether each host that the call would reach was allowed. */
function coversByHosts(grants: readonly Grant[], { tool, args }: ResolvedCall): boolean {
  const allowed = grants.flatMap((grant) => (grant.kind === 'hosts' && grant.tool === tool.name ? grant.hosts : []));
  return tool.findHosts?.(args)?.every((host) => allowed.includes(host)) ?? false;
}

function coversPart(prefix: readonly string[], { words, allows }: ResolvedPart): boolean {
  if (allows === undefined || !beginsWith(words, prefix) || prefix.length < allows.least) return false;
  const [first, end] = allows.tasks ?? [0, 0];
  return prefix.length <= first || prefix.length >= end;
}

function findForegroundParts({ tool, args, parts }: ResolvedCall): readonly ResolvedPart[] | undefined {
  const found = tool.findCommand?.(args);
  return found?.isPosix && !found.isBackground ? parts : undefined;
}

/** Whether a program runs with these first words. `unclear`: the table does not know all that it does. */
export function matchPart({ words, compare }: ResolvedPart, prefix: readonly string[]): 'yes' | 'no' | 'unclear' {
  const [program, ...others] = words;
  if (listProgramNames(program).some((name) => beginsWith([name, ...others], prefix))) return 'yes';
  return compare?.(prefix) ?? 'unclear';
}

/** `tools.core` and `tools.exclude` of the settings, as far as they are about commands. */
export interface CommandLimits {
  /** Every part must begin with one of these. Absent: with anything. */
  readonly core?: readonly (readonly string[])[];
  /** No part may begin with one of these. */
  readonly exclude: readonly (readonly string[])[];
}

/** `unclear`: it cannot be told whether it runs something that is excluded. */
export function checkLimits(
  { core, exclude }: CommandLimits,
  { tool, args, parts }: ResolvedCall,
): 'core' | 'exclude' | 'unclear' | undefined {
  if (tool.findCommand?.(args) === undefined || (core === undefined && exclude.length === 0)) return undefined;
  const matches = exclude.flatMap((words) => parts?.map((part) => matchPart(part, words)) ?? 'unclear');
  if (matches.includes('yes')) return 'exclude';
  if (core !== undefined && !parts?.every((part) => core.some((words) => beginsWith(part.words, words)))) return 'core';
  return matches.includes('unclear') ? 'unclear' : undefined;
}
