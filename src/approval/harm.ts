import { parse, resolve } from 'node:path';
import type { Env } from '../core/io.ts';
import { contains } from '../core/text/path.ts';
import { ASSIGNMENT, expandRoughly, type RoughCommand, readScene, type Scene, scanLine } from './harm-words.ts';

export interface HarmPlace {
  /** Where the command runs. */
  readonly directory: string;
  /** The directories that the user works in. */
  readonly roots: readonly string[];
  /** Home directories, without links. */
  readonly homes: readonly string[];
  readonly env: Env;
  /** The path without links; undefined if it does not exist. */
  readonly realPath: (path: string) => string | undefined;
  /** Whether a backslash quotes, as in POSIX shells. */
  readonly isPosix: boolean;
}

/**
 * What a command would destroy beyond the workspace, such as `rm: the home directory /home/u`: the root, a home directory,
 * a disk, every process.
 *
 * A last belt for commands that run unconfined, and no substitute for the fence. It is a list of known harm, and no such
 * list is complete: nothing may run because this finds nothing. In doubt it finds harm, so that a quoted text may be taken
 * for a command. What a script does, or a line in another language, is not seen.
 */
export function findHarm(line: string, place: HarmPlace): string | undefined {
  const look: Look = { place, left: MAX_PATHS };
  const harm = inspectLine(line, look, 0);
  return harm ?? (look.left < 0 ? 'more files than gmn looks at' : undefined);
}

interface Look {
  readonly place: HarmPlace;
  /** How many paths may still be looked at. */
  left: number;
}

const MAX_PATHS = 2000;
/** Of lines inside of words, as in `sh -c '…'`. */
const MAX_DEPTH = 4;

function inspectLine(line: string, look: Look, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return 'lines within lines, deeper than gmn looks';
  if (FORK_BOMB.test(line)) return 'every process';
  const { isPosix, env, directory, homes } = look.place;
  const commands = scanLine(line, isPosix);
  const scene = readScene(commands, { env, directory, home: homes[0] ?? '/root' });
  // What a substitution prints may be a word of the command around it.
  const substitutes = /`|\$\(/.test(line);
  const flat = substitutes ? scanLine(line.replaceAll('"', '').replace(/\$?[`()]/g, ' '), isPosix) : [];
  const runsText =
    substitutes || commands.some(({ words }) => isLauncher(words.find((word) => !ASSIGNMENT.test(word))));
  const isText = ({ words }: RoughCommand): boolean => !runsText && TEXT_ONLY.test(words.slice(0, 2).join(' '));
  for (const command of [...commands, ...flat]) {
    const sight = { look, scene, pipeline: command.pipeline };
    const harm = findDisk(command.writes, sight) ?? (isText(command) ? undefined : inspectWords(command.words, sight));
    if (harm !== undefined) return harm;
  }
  const lines = commands.filter((command) => !isText(command)).flatMap(({ words }) => words);
  return firstOf(
    lines.filter((word) => /[\s;&|(]/.test(word)),
    (word) => inspectLine(word, look, depth + 1),
  );
}

const FORK_BOMB = /(?<![\w:])([\w:]{1,40})\s{0,9}\(\s{0,9}\)\s{0,9}\{\s{0,9}\1\s{0,9}\|\s{0,9}\1\s{0,9}&/;

/** Programs whose words are text, where nothing in the line runs text. */
const TEXT_ONLY = /^(?:echo|printf|grep|rg|git (?:commit|log|grep|tag|show|diff))(?: |$)/;

/** What runs other words of its line, or a line that is one of its words. */
const LAUNCHERS: ReadonlySet<string | undefined> = new Set(
  `sudo doas su env command builtin exec eval source . xargs parallel nohup nice ionice time timeout setsid stdbuf chroot unshare
  nsenter runuser pkexec systemd-run busybox toybox caffeinate watch ssh sh bash zsh dash ksh fish ash cmd powershell pwsh start
  python python3 node perl ruby php then do else if while until !`.split(/\s+/),
);

function isLauncher(word: string | undefined): boolean {
  return LAUNCHERS.has(word && toName(word));
}

function toName(word: string): string {
  return word
    .slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')) + 1)
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|com)$/, '');
}

/** These delete or move what they are given, with all that is below. */
const DELETING = /^(?:rm|shred|srm|unlink|rimraf|trash|del|erase|rd|ri|remove-item|mv|move|move-item)$/;
/** So do these, or change it, with one of these options. */
const CHANGING = new Map([
  ['chmod', /^-\w*R|^--rec/],
  ['chown', /^-\w*R|^--rec/],
  ['chgrp', /^-\w*R|^--rec/],
  ['setfacl', /^-\w*R|^--rec/],
  ['chattr', /^-\w*R/],
  ['icacls', /^\/t$/i],
  ['takeown', /^\/r$/i],
  ['rsync', /^--del/],
  ['fuser', /^-\w*k/],
]);
const FINDING = /^(?:find|fd|fdfind)$/;
const EXECUTING = /^-(?:exec|ok)(?:dir)?$|^-[xX]$|^--exec(?:-batch)?$/;
/** These write to the disk that they are given. */
const FORMATTING = /^(?:mkfs(?:\.\w+)?|mke2fs|mkswap|newfs\w*|wipefs|blkdiscard|[sc]?fdisk|s?gdisk|parted|badblocks)$/;
const OTHERS = /^(?:git|dd|tee|truncate|cp|install)$/;
const LISTING = /^(?:-l|--list|print)$/;

const ALWAYS = (): boolean => true;
const hasWord =
  (pattern: RegExp) =>
  (args: readonly string[]): boolean =>
    args.some((arg) => pattern.test(arg));

/** These end the machine or processes that nobody has named, or erase a disk by another name. */
const ENDING = new Map<string, readonly [place: string, isMeant: (args: readonly string[]) => boolean]>([
  ...['shutdown', 'poweroff', 'halt', 'reboot', 'stop-computer', 'restart-computer'].map(
    (name) => [name, ['every process', ALWAYS]] as const,
  ),
  ...['init', 'telinit'].map((name) => [name, ['every process', hasWord(/^[06]$/)]] as const),
  ...['systemctl', 'loginctl'].map(
    (name) => [name, ['every process', hasWord(/^(?:poweroff|reboot|halt|kexec)$/)]] as const,
  ),
  // `kill -1 12` sends a signal, `kill -9 -1` names all processes.
  ['kill', ['every process', (args) => args.lastIndexOf('-1') > 0]],
  ['killall5', ['every process', ALWAYS]],
  ...['pkill', 'killall'].map(
    (name) => [name, ['every process', hasWord(/^[.*^$]*$|^-[uU]|^--(?:e?uid|user)/)]] as const,
  ),
  ...'taskkill tskill'.split(' ').map((name) => [name, ['every process', hasWord(/^\*$/)]] as const),
  ['diskutil', ['a disk', hasWord(/^(?:erase|partition|zero|secureerase|reformat)/i)]],
  ['format', ['a disk', hasWord(/^[a-z]:$/i)]],
  ...['diskpart', 'format-volume', 'clear-disk', 'initialize-disk'].map((name) => [name, ['a disk', ALWAYS]] as const),
]);

interface Sight {
  readonly look: Look;
  readonly scene: Scene;
  readonly pipeline: readonly string[];
}

/** Any word may be the program: which ones run the words after them is not known. */
function inspectWords(words: readonly string[], sight: Sight): string | undefined {
  const { look, pipeline } = sight;
  const seen = new Set<string>();
  let isFirst = true;
  let isLaunched = false;
  let getsMore = false;
  for (const [index, word] of words.entries()) {
    if (word === '--no-preserve-root') return `${words[0]}: /`;
    const name = toName(word);
    const isProgram = isFirst || isLaunched;
    const key = `${name} ${isProgram} ${getsMore}`;
    // The words after a second `rm` are among those after the first.
    if (look.left >= 0 && isKnown(name) && !seen.has(key)) {
      seen.add(key);
      const args = words.slice(index + 1);
      const harm =
        // Nothing but its place tells a program that needs no target from a word.
        (isProgram ? findEnding(name, args) : undefined) ??
        findVictim(name, getsMore ? [...args, ...pipeline] : args, sight);
      if (harm !== undefined) return `${name}: ${harm}`;
    }
    isFirst &&= ASSIGNMENT.test(word);
    isLaunched ||= isLauncher(word);
    getsMore ||= name === 'xargs' || name === 'parallel';
    if (getsMore && pipeline.length > MAX_PATHS) look.left = -1;
  }
  return undefined;
}

function isKnown(name: string): boolean {
  return (
    ENDING.has(name) || CHANGING.has(name) || [DELETING, FINDING, FORMATTING, OTHERS].some((each) => each.test(name))
  );
}

function findEnding(name: string, args: readonly string[]): string | undefined {
  const [what, isMeant] = ENDING.get(name) ?? [];
  return isMeant?.(args) ? what : undefined;
}

function findVictim(name: string, args: readonly string[], sight: Sight): string | undefined {
  const operands = args.filter((arg) => !arg.startsWith('-'));
  const option = CHANGING.get(name);
  if (option !== undefined) return args.some((arg) => option.test(arg)) ? findVital(operands, sight) : undefined;
  if (DELETING.test(name)) return findVital(name.startsWith('m') ? operands.slice(0, -1) : operands, sight);
  if (FINDING.test(name)) return isActing(args) ? findVital(listRoots(args), sight) : undefined;
  if (FORMATTING.test(name)) return args.some((arg) => LISTING.test(arg)) ? undefined : findDisk(operands, sight);
  switch (name) {
    case 'git':
      return findCleaned(args, sight);
    case 'dd':
      return findDisk(
        args.flatMap((arg) => (arg.startsWith('of=') ? arg.slice(3) : [])),
        sight,
      );
    case 'tee':
      return findDisk(operands, sight);
    default:
      // What is written to comes last.
      return findDisk(operands.slice(-1), sight);
  }
}

/** Whether a `find` does more than look. */
function isActing(args: readonly string[]): boolean {
  return args.some((arg, index) => {
    const program = EXECUTING.test(arg) ? (args[index + 1] ?? '') : '';
    return arg === '-delete' || isLauncher(program) || isKnown(toName(program));
  });
}

function listRoots(args: readonly string[]): readonly string[] {
  const words = args.slice(args.findIndex((arg) => !/^-[HLPOD]/.test(arg)));
  const end = words.findIndex((word) => /^[-(!]/.test(word));
  const roots = words.slice(0, end);
  return roots.length === 0 ? ['.'] : roots;
}

/** `git clean` of what lies above the workspace; with `-n` it only lists. */
function findCleaned(args: readonly string[], sight: Sight): string | undefined {
  const at = args.indexOf('clean');
  if (at < 0 || args.some((arg) => arg === '-n' || arg === '--dry-run')) return undefined;
  const words = ['.', ...args.slice(at + 1).filter((arg) => !arg.startsWith('-'))];
  const { roots } = sight.look.place;
  const isAbove = (path: string): boolean => roots.some((root) => root !== path && contains(path, root));
  return (
    findVital(words, sight) ??
    firstPath(words, sight, (path) => (isAbove(path) ? `above the workspace, ${path}` : undefined))
  );
}

const DISK = /^\/dev\/(?:[hsv]d|xvd|nvme|mmcblk|r?disk|mapper\/|dm-|md\d|loop\d|nbd|zvol\/)|^\\\\\.\\physicaldrive/i;
const HOME = /^\/(?:home|Users|export\/home|var\/home)(?:\/[^/]+)?$|^\/root$|^[a-z]:\\users(?:\\[^\\]+)?$/i;
const SYSTEM =
  /^\/(?:bin|boot|dev|etc|lib\w*|opt|proc|sbin|srv|sys|usr|var|System|Library|Applications|Volumes)$|^[a-z]:\\(?:windows|program[^\\]*)$/i;

function findDisk(words: readonly string[], sight: Sight): string | undefined {
  return firstPath(words, sight, (path) => (DISK.test(path) ? `the disk ${path}` : undefined));
}

function findVital(words: readonly string[], sight: Sight): string | undefined {
  return findDisk(words, sight) ?? firstPath(words, sight, (path) => nameVital(path, sight.look.place));
}

function firstPath(
  words: readonly string[],
  { look, scene }: Sight,
  find: (path: string) => string | undefined,
): string | undefined {
  return firstOf(words, (word) => {
    if (look.left < 0) return undefined;
    const paths = expandRoughly(word, scene).flatMap((text) => scene.directories.map((each) => resolve(each, text)));
    look.left -= paths.length;
    return firstOf(paths, find);
  });
}

function firstOf(words: readonly string[], find: (word: string) => string | undefined): string | undefined {
  for (const word of words) {
    const found = find(word);
    if (found !== undefined) return found;
  }
  return undefined;
}

function nameVital(path: string, { homes, realPath }: HarmPlace): string | undefined {
  const pattern = path.split(/[/\\]/).find((segment) => /[*?[]/.test(segment));
  const base = resolve(pattern === undefined ? path : path.slice(0, path.indexOf(pattern)));
  const isRoot = parse(base).root === base;
  // `~/*.log` is a part of what is there, `~/*` and `/h*` are as good as all of it.
  if (pattern !== undefined && !isRoot && /[A-Za-z0-9]/.test(pattern.replace(/\[[^[\]]*\]/g, ''))) return undefined;
  for (const each of [base, realPath(base) ?? base]) {
    if (parse(each).root === each) return each;
    if (HOME.test(each) || homes.some((home) => contains(each, home))) return `the home directory ${each}`;
    if (SYSTEM.test(each)) return `the directory ${each} of the system`;
  }
  return undefined;
}
