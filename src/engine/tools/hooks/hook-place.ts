import { dirname, isAbsolute, resolve } from 'node:path';
import { createTrustCheck } from '../../../config/context.ts';
import { findScripts } from '../../../config/conventions/hook-scripts.ts';
import type { Hook } from '../../../config/conventions/hooks.ts';
import type { App } from '../../../core/app.ts';
import type { Confine } from '../../../core/confine.ts';
import { AppError } from '../../../core/error.ts';
import { contains } from '../../../core/text/path.ts';
import { findFileKind, realPath } from '../../../platform/files/path.ts';
import { findHelper, listHelperDirectories } from '../../../platform/process/program-path.ts';
import { systemPlatform } from '../../../platform/runtime/system.ts';
import type { Host } from '../../host.ts';

export interface PlaceQuestion {
  readonly app: App;
  readonly withPerson: Host['withPerson'];
  /** Undefined if the run has no sandbox. Throws AppError `config` if it cannot be opened. */
  readonly confine: () => Promise<Confine | undefined>;
}

/** Where the hooks of a run may run, by what the model has done so far. */
export class HookPlaces {
  readonly #question: PlaceQuestion;
  /** Grows with every change of the workspace that nobody was asked about, and every command. */
  #changes = 0;
  /** The changes after which the user let a hook run. */
  readonly #allowed = new Map<string, number>();

  constructor(question: PlaceQuestion) {
    this.#question = question;
  }

  noteChange(): void {
    this.#changes += 1;
  }

  /** What confines the hook; undefined: it may run as it is. Throws AppError `config` if it may not run, and the signal's reason. */
  async choose(hook: Hook, signal: AbortSignal): Promise<Confine | undefined> {
    const { app, confine } = this.#question;
    const { scope, entry } = hook;
    const isOwn = scope !== 'folder';
    if (isOwn) await this.#checkTrust(hook);
    if (isOwn && (entry.definition.unconfined === true || isOutside(hook, app))) return undefined;
    const confined = await confine();
    if (confined !== undefined) return confined;
    const isKnown = this.#changes === (this.#allowed.get(hook.command) ?? 0);
    if (isKnown || (isOwn && findCode(hook.command, app) === '')) return undefined;
    await this.#ask(hook, signal);
    this.#allowed.set(hook.command, this.#changes);
    return undefined;
  }

  /** A hook of the user's that names a script of the folder would run whatever lies there. */
  async #checkTrust({ command }: Hook): Promise<void> {
    const { app } = this.#question;
    const folder = realPath(app.cwd) ?? app.cwd;
    const [script] = findScripts(findCode(command, app), folder).files;
    if (script === undefined) return;
    const settings = await app.settings();
    if (createTrustCheck({ env: app.env, cwd: app.cwd, homes: app.homes(), settings })(app.cwd).isTrusted) return;
    throw new AppError('config', `it would run ${script.path}, and this folder is not trusted (gmn trust)`);
  }

  async #ask({ command, event, scope }: Hook, signal: AbortSignal): Promise<void> {
    const { app, withPerson } = this.#question;
    const preview = { kind: 'command', command, directory: app.cwd } as const;
    const name = 'Something here was changed without a question. Run this hook, which may use it?';
    // At the end nobody waits for questions.
    const canAsk = event !== 'SessionEnd' && event !== 'Notification';
    const answer = canAsk
      ? await withPerson?.((person) => person.ask({ items: [{ name, preview }], hasFile: false }, signal))
      : undefined;
    signal.throwIfAborted();
    if (answer?.kind === 'yes') return;
    const why = answer === undefined ? 'there is nobody to ask' : 'the user said no';
    const advice =
      scope === 'folder'
        ? '--sandbox confines it'
        : '--sandbox confines it, "unconfined": true beside its command allows it';
    throw new AppError('config', `it may run what was changed here without a question, and ${why}: ${advice}`);
  }
}

/** Programs and words of a shell that run nothing they read. */
const HARMLESS = new Set([
  ...['if', 'then', 'else', 'elif', 'fi', 'while', 'until', 'do', 'done', '!', '{', '}', 'exit', 'true', 'false', ':'],
  ...[
    '[',
    '[[',
    'test',
    'echo',
    'printf',
    'cat',
    'grep',
    'head',
    'tail',
    'wc',
    'tr',
    'cut',
    'uniq',
    'jq',
    'date',
    'read',
  ],
  ...['sleep', 'touch', 'mkdir', 'tee', 'kill'],
]);

const KEYWORDS = /^(?:(?:if|then|else|elif|while|until|do|!|\{)\s+)+/;

/** The commands of a line that may run a file which they name; empty if there are none. */
function findCode(command: string, { env, cwd }: Pick<App, 'env' | 'cwd'>): string {
  // What a substitution gives, or a program of the folder on PATH, could be anything.
  const isClear = !/\$\(|`|<\(|>\(/.test(command) && hasOwnPath(env, cwd);
  if (!isClear) return command;
  const bare = command.replace(/(?<!\d)\d*>{1,2}\|?\s*&?[^\s;|&()<>]*/g, ' ');
  const segments = bare.split(/[;\n|&]+/).map((segment) => segment.trim().replace(KEYWORDS, ''));
  return segments.filter((segment) => segment !== '' && !HARMLESS.has(segment.split(/\s/)[0] ?? '')).join(' ; ');
}

function hasOwnPath(env: App['env'], cwd: string): boolean {
  const path = (env.PATH ?? '').split(systemPlatform() === 'win32' ? ';' : ':');
  const outside = listHelperDirectories(env, [cwd]);
  return path.every((directory) => directory === '' || outside.includes(directory));
}

const INTERPRETERS = new Set(['sh', 'bash', 'dash', 'zsh', 'node', 'python', 'python3', 'ruby', 'perl']);

/** One command whose program is a file outside of the folder, and none of whose words is something in the folder. */
function isOutside({ command, scope, file }: Hook, { env, cwd }: Pick<App, 'env' | 'cwd'>): boolean {
  const own =
    scope === 'extension'
      ? command.replace(/\$\{(?:extensionPath|CLAUDE_PLUGIN_ROOT)\}/g, () => dirname(file))
      : command;
  const line = own.replace(
    /(^|[\s"])(?:~|\$HOME|\$\{HOME\})(?=\/)/g,
    (_, before: string) => `${before}${env.HOME ?? ''}`,
  );
  if (!/^[\w@%+:,./\\" =-]+$/.test(line) || !hasOwnPath(env, cwd)) return false;
  const words = [...line.matchAll(/"([^"]*)"|[^\s"]+/g)].map(([word, quoted]) => quoted ?? word);
  const folder = realPath(cwd) ?? cwd;
  const isInside = (path: string): boolean => contains(folder, path) || contains(cwd, path);
  const isOwnFile = (word = ''): boolean => {
    const real = isAbsolute(word) ? realPath(word) : undefined;
    return real !== undefined && !isInside(word) && !isInside(real) && findFileKind(real) === 'file';
  };
  const [program = '', ...operands] = words;
  const isInterpreted =
    INTERPRETERS.has(program) && findHelper(program, env, [cwd]) !== undefined && isOwnFile(operands[0]);
  // A program of the system may be one that runs what a folder says, as make and npm do.
  const isScript = isOwnFile(program) && !listHelperDirectories(env, [cwd]).includes(dirname(program));
  const names = operands.flatMap((word) => [word, word.replace(/^-[^=/]*=?/, '')]);
  return (isInterpreted || isScript) && names.every((word) => word === '' || !isSomethingInside(word, cwd, isInside));
}

function isSomethingInside(word: string, cwd: string, isInside: (path: string) => boolean): boolean {
  const path = resolve(cwd, word);
  const real = realPath(path);
  return (isAbsolute(word) && isInside(path)) || (real !== undefined && isInside(real));
}
