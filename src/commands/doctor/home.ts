import type { Homes } from '../../core/app.ts';
import { formatSize } from '../../core/text/size.ts';
import { type PathStatus, pathStatus, pathsIn } from '../../platform/files/path-status.ts';
import { type Finding, type Remedy, shellWord } from './finding.ts';

/** gmn's directory, who may look into it, and the sessions in it. */
export function homeFindings({ gmn, gemini }: Homes): readonly Finding[] {
  const status = pathStatus(gmn);
  if (status === undefined) {
    return [{ check: 'home', state: 'absent', text: `${gmn} is made when it is needed` }, officialHome(gemini)];
  }
  const fault = unusable(gmn, status);
  if (fault !== undefined) return [fault, officialHome(gemini)];
  const open = [gmn, ...pathsIn(gmn)].flatMap((path) => exposure(path) ?? []);
  const home: Finding =
    open.length === 0
      ? { check: 'home', state: 'ok', text: gmn }
      : {
          check: 'home',
          state: 'warning',
          text: `${gmn}: others may look at ${open.length === 1 ? 'something' : `${open.length} things`} in it`,
          remedies: open.slice(0, 5),
        };
  return [home, officialHome(gemini), sessionsFinding(`${gmn}/sessions`)];
}

function officialHome(gemini: string): Finding {
  const isThere = pathStatus(gemini) !== undefined;
  return isThere
    ? { check: 'official', state: 'ok', text: `${gemini}, the official CLI's files` }
    : { check: 'official', state: 'absent', text: `${gemini} is not there: no files of the official CLI` };
}

function unusable(path: string, { kind, isOurs, isWritable }: PathStatus): Finding | undefined {
  const failure = { check: 'home', state: 'failure', fault: 'config' } as const;
  if (kind !== 'directory') {
    return {
      ...failure,
      text: `${path} is not a directory`,
      remedies: [{ words: 'Move it away', command: `mv ${shellWord(path)} ${shellWord(`${path}.old`)}` }],
    };
  }
  if (!isOurs) {
    return {
      ...failure,
      text: `${path} belongs to another user`,
      remedies: [{ words: 'Keep your files elsewhere', command: 'export GMN_HOME=~/.gmn-own' }],
    };
  }
  if (isWritable) return undefined;
  return { ...failure, text: `${path} cannot be written to`, remedies: [chmod('Mend it', 700, path)] };
}

function exposure(path: string): Remedy | undefined {
  const status = pathStatus(path);
  if (status === undefined || status.kind === 'other' || (status.mode & 0o077) === 0) return undefined;
  return chmod('For your eyes only', status.kind === 'directory' ? 700 : 600, path);
}

function chmod(words: string, mode: number, path: string): Remedy {
  return { words, command: `chmod ${mode} ${shellWord(path)}` };
}

function sessionsFinding(directory: string): Finding {
  const status = pathStatus(directory);
  if (status === undefined) return { check: 'sessions', state: 'absent', text: 'none saved yet' };
  if (!status.isWritable) {
    return {
      check: 'sessions',
      state: 'warning',
      text: `${directory} cannot be written to: nothing is saved`,
      remedies: [chmod('Mend it', 700, directory)],
    };
  }
  const files = pathsIn(directory).filter((path) => path.endsWith('.jsonl'));
  const bytes = files.reduce((sum, path) => sum + (pathStatus(path)?.bytes ?? 0), 0);
  const count = `${files.length} ${files.length === 1 ? 'session' : 'sessions'}`;
  return { check: 'sessions', state: 'ok', text: `${directory}, ${count}, ${formatSize(bytes)}` };
}
