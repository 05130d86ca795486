import { isAbsolute } from 'node:path';
import type { JsonObject } from '../core/json.ts';
import type { Permission } from '../core/permission.ts';
import {
  beginsWith,
  findAllowableWords,
  handsOver,
  isRelativeProgram,
  isWrapper,
  listProgramNames,
  parseShellLine,
} from '../core/text/command-line.ts';
import { contains } from '../core/text/path.ts';
import { isSensitivePath } from '../core/text/secrets.ts';
import type { CommandCall, Tool } from '../core/tool.ts';
import { isProtected, isSystemPath } from '../tools/workspace/protection.ts';

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
}

export function toScope({ tool, args, secret, isGuarded }: ResolvedCall): Scope {
  if (isGuarded) return 'once';
  if (secret !== undefined) return 'call';
  if (tool.remote !== undefined) return 'tool';
  if (tool.effect === 'write') return 'edits';
  if (tool.findHosts !== undefined) return 'hosts';
  return tool.findCommand?.(args) === undefined ? 'tool' : 'command';
}

/** The words of `p`; undefined if it is not offered. */
export function findPrefix(call: ResolvedCall): readonly string[] | undefined {
  const line = findForegroundLine(call);
  const words = line === undefined ? undefined : findAllowableWords(line);
  // It would not cover the very command that is asked about.
  return words !== undefined && coversByWords([words], call) ? words : undefined;
}

/** Undefined if the call has nothing of that reach, or is one that is asked about each time. */
export function createGrant(call: ResolvedCall, reach: Reach): Grant | undefined {
  const { tool, args, secret, target } = call;
  if (call.isGuarded) return undefined;
  if (reach === 'file') return target === undefined ? undefined : { kind: 'file', path: target };
  if (reach === 'prefix') {
    const words = findPrefix(call);
    // Elsewhere it would be another program.
    const directory = isRelativeProgram(words?.[0] ?? '') ? findRunDirectory(call) : undefined;
    return words && { kind: 'prefix', words, ...(directory === undefined ? {} : { directory }) };
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

/** Whether each part of the command begins with the words of one of these. */
function coversByWords(prefixes: readonly (readonly string[])[], call: ResolvedCall): boolean {
  const line = findForegroundLine(call);
  const parts = line === undefined ? undefined : parseShellLine(line);
  if (parts === undefined) return false;
  const directory = findRunDirectory(call);
  return parts.every(
    (part) =>
      !handsOver(part) &&
      prefixes.some(
        (words) => beginsWith(part, words) && !part.slice(words.length).some((word) => namesReserved(word, directory)),
      ),
  );
}

/** Whether each host that the call would reach was allowed. */
function coversByHosts(grants: readonly Grant[], { tool, args }: ResolvedCall): boolean {
  const allowed = grants.flatMap((grant) => (grant.kind === 'hosts' && grant.tool === tool.name ? grant.hosts : []));
  return tool.findHosts?.(args)?.every((host) => allowed.includes(host)) ?? false;
}

function findForegroundLine({ tool, args }: ResolvedCall): string | undefined {
  const found = tool.findCommand?.(args);
  return found?.isPosix && !found.isBackground ? found.command : undefined;
}

/**
 * Whether an argument names what tools do not touch without a question, either: secrets, protected paths, and what is
 * outside of the directory. No fence: what a program opens by itself is not seen.
 */
function namesReserved(word: string, directory: string): boolean {
  // `--out=/x`, `-f/x`, `a:/x`, `@/x`.
  const values = [word, word.replace(/^-\w/, ''), ...word.split(/[=:,@]/)];
  return values.some(
    (path) =>
      isSensitivePath(path) ||
      isProtected(path) ||
      isSystemPath(path) ||
      path.split(/[\\/]/).includes('..') ||
      (isAbsolute(path) && !contains(directory, path)),
  );
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
  { tool, args }: ResolvedCall,
): 'core' | 'exclude' | 'unclear' | undefined {
  const found = tool.findCommand?.(args);
  if (found === undefined || (core === undefined && exclude.length === 0)) return undefined;
  const parts = found.isPosix ? parseShellLine(found.command) : undefined;
  const isExcluded = parts?.some(([program, ...rest]) =>
    exclude.some((words) => listProgramNames(program).some((name) => beginsWith([name, ...rest], words))),
  );
  if (isExcluded) return 'exclude';
  if (core !== undefined && !parts?.every((part) => core.some((words) => beginsWith(part, words)))) return 'core';
  const isClear = parts?.every(([program]) => !isWrapper(program)) ?? false;
  return exclude.length > 0 && !isClear ? 'unclear' : undefined;
}
