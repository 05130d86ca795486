import { resolve } from 'node:path';
import type { App } from '../core/app.ts';
import type { Credential } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import { plural } from '../core/text/format.ts';
import { sanitize } from '../core/text/terminal.ts';
import { readSecrets } from '../engine/redaction.ts';
import type { Recording } from '../recording/exchange.ts';
import { createRecorder, type Recorder } from '../recording/recorder.ts';
import { openReplay, type Replay, type ReplayOptions } from '../recording/replay.ts';

/** A run whose exchanges are recorded, or replayed. */
export interface RecordedRun {
  readonly app: App;
  /** Says what the replay lacks, and returns the exit code. */
  finish(exitCode: number): Promise<number>;
}

/** `GMN_RECORD` and `--replay`. Throws AppError `usage` if the file cannot be used. */
export async function openRecordedRun(
  app: App,
  { record, replay }: { readonly record?: string; readonly replay?: string },
): Promise<RecordedRun> {
  if (replay !== undefined && record) {
    throw new AppError('usage', '--replay cannot be combined with GMN_RECORD', { hint: 'Unset GMN_RECORD.' });
  }
  if (replay === undefined) {
    const { send } = await openRecorder(record ?? '', app);
    return { app: { ...app, send, isRecorded: true }, finish: async (exitCode) => exitCode };
  }
  const opened = await openReplayOf(replay, { clock: app.clock }, app);
  const { send, clock, recording } = opened;
  const replayed = chooseReplayed(recording);
  return {
    app: { ...app, send, clock, preconnect: () => {}, replayed },
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
  return createRecorder({ file, cwd, send, clock, report, isProxy, secrets: () => readSecrets(app) });
}

/** Throws AppError `usage`. Says what is wrong with the file's end. */
export async function openReplayOf(file: string, options: Omit<ReplayOptions, 'name'>, app: App): Promise<Replay> {
  const opened = await openReplay(resolve(app.cwd, file), { ...options, name: file, secrets: () => readSecrets(app) });
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
