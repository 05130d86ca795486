import { basename, dirname, join } from 'node:path';
import type { App, Homes } from '../../core/app.ts';
import { formatSize } from '../../core/text/format.ts';
import { quoteIfNeeded } from '../../core/text/quote.ts';
import { realPath } from '../../platform/files/path.ts';
import { listPaths, type PathStatus, readPathStatus } from '../../platform/files/read.ts';
import type { Runtime } from '../../platform/host.ts';
import { findProgram } from '../../platform/process/program-path.ts';
import { readCodeCacheState } from '../../platform/runtime/code-cache.ts';
import { formatAssignment, systemPlatform } from '../../platform/runtime/system.ts';
import { findRipgrep } from '../../tools/search/ripgrep.ts';
import {
  absentFinding,
  type Finding,
  failureFinding,
  isUtf8Locale,
  okFinding,
  type Remedy,
  warningFinding,
} from './finding.ts';

/** The oldest supported Node; must match package.json. */
export const OLDEST_NODE = '20.18.1';

export function checkProgram(app: App, runtime: Runtime): readonly Finding[] {
  return [
    checkNode(runtime),
    checkGmn(app, runtime),
    checkInstallation(runtime),
    checkCodeCache(app, runtime),
    checkRipgrep(app),
  ];
}

function checkNode({ node, builtIn, platform, arch }: Runtime): Finding {
  if (builtIn !== undefined) return okFinding('node', `not needed: ${builtIn} is built in, on ${platform} ${arch}`);
  const text = `${node} on ${platform} ${arch}`;
  if (rankVersion(node) >= rankVersion(OLDEST_NODE)) return okFinding('node', text);
  return failureFinding('node', 'config', `${text}; gmn needs ${OLDEST_NODE} or newer`, {
    words: 'Get it at https://nodejs.org',
  });
}

function rankVersion(version: string): number {
  return version.split('.').reduce((sum, part) => sum * 1000 + Number.parseInt(part, 10), 0);
}

function checkGmn({ version, env, cwd }: App, { program }: Runtime): Finding {
  const text = `${version}${program === undefined ? '' : ` in ${program}`}`;
  const found = findProgram('gmn', env, cwd);
  const other = found === undefined ? undefined : realPath(found);
  if (other === undefined) return okFinding('gmn', `${text}, not on PATH`);
  // On Windows npm puts a script on PATH that starts the program, and so do some package managers elsewhere.
  if (other === program || !other.endsWith('gmn.js')) return okFinding('gmn', text);
  return warningFinding('gmn', `${text}; "gmn" on PATH is another one: ${other}`, {
    words: 'To see which it is',
    command: 'gmn --version',
  });
}

/** How it came here, and so how a newer one would. */
export function checkInstallation({ builtIn, program = '' }: Pick<Runtime, 'builtIn' | 'program'>): Finding {
  const found = (text: string, ...remedies: readonly Remedy[]): Finding => {
    return { check: 'installed', state: 'ok', text, remedies };
  };
  if (builtIn !== undefined) {
    return found('an executable', { words: 'To update, put a newer one where it is: npm run build:binary in a clone' });
  }
  const root = dirname(dirname(program));
  const place = quoteIfNeeded(root);
  if (readPathStatus(join(root, '.git')) !== undefined) {
    const update = { words: 'To update', command: `git -C ${place} pull` };
    return found(`from a clone, ${root}`, update, { words: 'Then', command: `npm --prefix ${place} run build` });
  }
  if (basename(dirname(root)) !== 'node_modules') return found(`from ${root}`, { words: UPDATE });
  const project = dirname(dirname(root));
  return readPathStatus(join(project, 'package.json')) === undefined
    ? found('a package, for all projects', { words: UPDATE, command: 'npm i -g <package>' })
    : found(`a package of the project ${project}`, {
        words: UPDATE,
        command: `npm --prefix ${quoteIfNeeded(project)} i <package>`,
      });
}

const UPDATE = 'To update, make a package of a newer clone with npm pack, and install that';

function checkCodeCache({ version }: App, { builtIn }: Runtime): Finding {
  if (builtIn !== undefined) return okFinding('code-cache', 'not needed: gmn is compiled already');
  const state = readCodeCacheState(version);
  if (state === undefined) return absentFinding('code-cache', 'no place to keep it');
  const { directory, isUsable } = state;
  if (isUsable) return okFinding('code-cache', directory);
  const status = readPathStatus(directory);
  if (status === undefined) return absentFinding('code-cache', 'not written yet');
  return warningFinding(
    'code-cache',
    `${directory} is not used: ${status.isOurs ? 'others may write to it' : 'it belongs to another user'}`,
    { words: 'gmn makes a new one if you remove it', command: `rm -r ${quoteIfNeeded(directory)}` },
  );
}

function checkRipgrep({ env, cwd }: App): Finding {
  const program = findRipgrep(env, [realPath(cwd) ?? cwd]);
  if (program !== undefined) return okFinding('ripgrep', program);
  return absentFinding('ripgrep', 'not found; searching works without it, only slower');
}

export function checkTerminal({ env, io: { out } }: App, { platform }: Runtime): Finding {
  const kind = out.isTerminal ? `${env.TERM || 'TERM not set'}, ${out.columns} columns` : 'stdout is not a terminal';
  const text = `${kind}, colour ${out.isStyled ? 'on' : 'off'}`;
  if (isUtf8Locale(env, platform)) return okFinding('terminal', `${text}, UTF-8`);
  return warningFinding('terminal', `${text}, the locale is not UTF-8`, {
    words: 'Choose one that is',
    command: formatAssignment('LANG', 'C.UTF-8', platform),
  });
}

export function checkHome({ gmn, gemini }: Homes): readonly Finding[] {
  const status = readPathStatus(gmn);
  if (status === undefined) {
    const fault = findCreationFailure(gmn);
    return [fault ?? absentFinding('home', `${gmn} will be created when needed`), checkOfficialHome(gemini)];
  }
  const fault = findHomeFailure(gmn, status);
  if (fault !== undefined) return [fault, checkOfficialHome(gemini)];
  const open = [gmn, ...listPaths(gmn)].flatMap((path) => findExposure(path, isUsersOwn(path, gmn)) ?? []);
  const what = open.length === 1 ? 'something' : `${open.length} things`;
  const home =
    open.length === 0
      ? okFinding('home', gmn)
      : warningFinding('home', `${gmn}: other users may read ${what} in it`, ...open.slice(0, 5));
  return [home, checkOfficialHome(gemini), checkSessions(join(gmn, 'sessions'))];
}

function checkOfficialHome(gemini: string): Finding {
  const exists = readPathStatus(gemini) !== undefined;
  return exists
    ? okFinding('official', `${gemini}, the official CLI's files`)
    : absentFinding('official', `${gemini} does not exist: no files of the official CLI`);
}

/** Looks at the directory in which the missing ones would be made. */
function findCreationFailure(path: string): Finding | undefined {
  const above = dirname(path);
  const status = readPathStatus(above);
  if (status === undefined) return above === path ? undefined : findCreationFailure(above);
  if (status.kind === 'directory' && status.isWritable) return undefined;
  const why = status.kind === 'directory' ? 'cannot be written to' : 'is not a directory';
  return failureFinding('home', 'config', `nothing can be kept: ${above} ${why}`, {
    words: 'Keep your files elsewhere',
    command: formatAssignment('GMN_HOME', '<a directory of yours>'),
  });
}

function findHomeFailure(path: string, { kind, isOurs, isWritable }: PathStatus): Finding | undefined {
  const fail = (what: string, remedy: Remedy): Finding => failureFinding('home', 'config', `${path} ${what}`, remedy);
  const move = `mv ${quoteIfNeeded(path)} ${quoteIfNeeded(`${path}.old`)}`;
  if (kind !== 'directory') return fail('is not a directory', { words: 'Move it away', command: move });
  const elsewhere = { words: 'Keep your files elsewhere', command: formatAssignment('GMN_HOME', '~/.gmn-own') };
  if (!isOurs) return fail('belongs to another user', elsewhere);
  return isWritable ? undefined : fail('cannot be written to', chmodRemedy('Fix it', 700, path));
}

/** Directories that users create with a plain mkdir; the secret files in them are private themselves. */
function isUsersOwn(path: string, gmn: string): boolean {
  return path === gmn || path === join(gmn, 'templates');
}

function findExposure(path: string, isUsers: boolean): Remedy | undefined {
  const status = readPathStatus(path);
  // Others may read the user's own directories, but not write to them.
  const forbidden = isUsers && status?.kind === 'directory' ? 0o022 : 0o077;
  if (status === undefined || status.kind === 'other' || (status.mode & forbidden) === 0) return undefined;
  return chmodRemedy('Make it private', status.kind === 'directory' ? 700 : 600, path);
}

function chmodRemedy(words: string, mode: number, path: string): Remedy {
  // Windows has lists of access in place of modes.
  if (systemPlatform() === 'win32')
    return { words, command: `icacls ${quoteIfNeeded(path)} /grant "$\{env:USERNAME}:F"` };
  return { words, command: `chmod ${mode} ${quoteIfNeeded(path)}` };
}

function checkSessions(directory: string): Finding {
  const status = readPathStatus(directory);
  if (status === undefined) return absentFinding('sessions', 'none saved yet');
  if (!status.isWritable) {
    return warningFinding(
      'sessions',
      `${directory} cannot be written to: nothing is saved`,
      chmodRemedy('Fix it', 700, directory),
    );
  }
  const files = listPaths(directory).filter((path) => path.endsWith('.jsonl'));
  const bytes = files.reduce((sum, path) => sum + (readPathStatus(path)?.bytes ?? 0), 0);
  const count = `${files.length} ${files.length === 1 ? 'session' : 'sessions'}`;
  return okFinding('sessions', `${directory}, ${count}, ${formatSize(bytes)}`);
}
