import { resolve } from 'node:path';
import type { App } from '../core/app.ts';
import type { Credential } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import { plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { readSecrets } from '../engine/model/redaction.ts';
import { realPath } from '../platform/files/path.ts';
import { findUserHomes } from '../platform/host.ts';
import type { Recording } from '../recording/exchange.ts';
import { createPlaceNames, type Places } from '../recording/places.ts';
import { createRecorder, type Recorder } from '../recording/recorder.ts';
import { openReplay, type Replay, type ReplayOptions } from '../recording/replay.ts';

/** A run whose exchanges are recorded, or replayed. */
export interface RecordedRun {
  readonly app: App;
  /** Says what the replay lacks, and returns the exit code. */
  finish(exitCode: number): Promise<number>;
}

export interface RecordedRunOptions extends Pick<ReplayOptions, 'match' | 'ignore'> {
  readonly record?: string;
  readonly replay?: string;
}

/** `GMN_RECORD` and `--replay`. Throws AppError `usage` if the file cannot be used. */
export async function openRecordedRun(
  app: App,
  { record, replay, match, ignore }: RecordedRunOptions,
): Promise<RecordedRun> {
  const idle = replay !== undefined ? undefined : match !== undefined ? '--match' : ignore && '--ignore';
  if (idle !== undefined) {
    throw new AppError('usage', `${idle} means nothing without --replay`, { hint: 'Add --replay <file>.' });
  }
  if (replay !== undefined && record) {
    throw new AppError('usage', '--replay cannot be combined with GMN_RECORD', { hint: 'Unset GMN_RECORD.' });
  }
  const omitsHomeContext = !app.env.GMN_RECORD_HOME;
  if (replay === undefined) {
    const { send } = await openRecorder(record ?? '', app);
    return { app: { ...app, send, isRecorded: true, omitsHomeContext }, finish: async (exitCode) => exitCode };
  }
  const opened = await openReplayOf(replay, { match, ignore, clock: app.clock }, app);
  const { send, clock, recording } = opened;
  const replayed = chooseReplayed(recording);
  return {
    app: { ...app, send, clock, preconnect: () => {}, replayed, omitsHomeContext },
    async finish(exitCode) {
      // A run that failed has said why, and has asked for less.
      const problems = exitCode === 0 ? formatProblems(opened, {}) : [];
      for (const problem of problems) await app.io.err.write(`gmn: ${problem}\n`);
      return problems.length > 0 ? 1 : exitCode;
    },
  };
}

export function openRecorder(file: string, app: App, { isProxy = false } = {}): Promise<Recorder> {
  const { cwd, send, clock, io } = app;
  // A closed stderr must not stop it.
  const report = (message: string): void => void io.err.write(`gmn: ${sanitize(message)}\n`).catch(() => undefined);
  return createRecorder({
    ...{ file, cwd, send, clock, report, isProxy, places: findPlaces(app) },
    secrets: () => readSecrets(app),
  });
}

function findPlaces({ cwd, env }: App): Places {
  const homes = [env.HOME ?? '', ...findUserHomes(env)];
  const all = [['workspace', cwd] as const, ...homes.map((home) => ['home', home] as const)];
  return createPlaceNames([...all, ...all.map(([name, path]) => [name, realPath(path) ?? path] as const)]);
}

/** Throws AppError `usage`. Says what is wrong with the file's end. */
export async function openReplayOf(file: string, options: Omit<ReplayOptions, 'name'>, app: App): Promise<Replay> {
  const opened = await openReplay(resolve(app.cwd, file), {
    ...options,
    name: file,
    places: findPlaces(app),
    secrets: () => readSecrets(app),
  });
  for (const notice of opened.recording.notices) await app.io.err.write(`gmn: ${notice}\n`);
  return opened;
}

const SHOWN = 5;

/** What a replay lacks, for people. An empty list: all is well. */
export function formatProblems(
  { recording, listProblems }: Replay,
  { allowUnused = false }: { readonly allowUnused?: boolean },
): readonly string[] {
  const { refused, unused } = listProblems();
  const lines: string[] = [];
  if (refused.length > 0) lines.push(`${plural(refused.length, 'request')} not in ${recording.name}`);
  if (unused.length > 0 && !allowUnused) {
    const shown = [...unused.slice(0, SHOWN), ...(unused.length > SHOWN ? ['…'] : [])].join(', ');
    lines.push(`${plural(unused.length, 'recorded exchange')} not used: ${shown}`);
  }
  return lines.map(sanitize);
}

/** The kind of account that was recorded; nothing of it is sent anywhere. */
function chooseReplayed({ exchanges }: Recording): NonNullable<App['replayed']> {
  const paths = exchanges.map(({ request }) => request.path);
  const credential = (type: Credential['type'], headers: Readonly<Record<string, string>>): Credential => ({
    type,
    source: '--replay',
    account: 'replay',
    headers: async () => headers,
  });
  if (paths.some((path) => path.includes('/v1internal'))) {
    return { credential: credential('oauth-personal', { authorization: 'Bearer replay' }), carrier: 'bearer' };
  }
  const type = paths.some((path) => path.includes('/publishers/')) ? 'vertex-ai' : 'gemini-api-key';
  return { credential: credential(type, { 'x-goog-api-key': 'replay' }), carrier: 'key' };
}
