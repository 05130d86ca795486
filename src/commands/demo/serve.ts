import { resolve } from 'node:path';
import { formatProblems, openRecorder, openReplayOf } from '../../app/recording.ts';
import type { App } from '../../core/app.ts';
import { waitForAbort } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { checkEndpoint } from '../../core/text/url.ts';
import { parseFaults } from '../../demo/fault.ts';
import type { DemoServer } from '../../demo/listen.ts';
import { forward, startProxy } from '../../demo/proxy.ts';
import { type ReplayServerOptions, startReplay } from '../../demo/replay.ts';
import { parseScript, type ScriptLine } from '../../demo/script.ts';
import { startDemo } from '../../demo/server.ts';
import { readBytes } from '../../platform/files/read.ts';
import type { Match } from '../../recording/player.ts';
import type { Replay } from '../../recording/replay.ts';
import type { Chunking } from '../../recording/wire.ts';

const SCRIPT_LIMIT_BYTES = 64_000_000;
const SERVICE = 'https://generativelanguage.googleapis.com';

interface DemoServeOptions {
  readonly port?: number;
  readonly script?: string;
  readonly fault?: readonly string[];
  readonly record?: string;
  readonly upstream?: string;
  readonly replay?: string;
  readonly match?: Match;
  readonly ignore?: readonly string[];
  readonly speed?: number;
  readonly chunks?: Chunking;
  readonly seed?: number;
  readonly allowUnused?: boolean;
  readonly recordMissing?: boolean;
  readonly quiet?: boolean;
}

/**
 * Serves until a signal ends it; returns that signal's exit code, and after a replay 0 or 1. The first line of stdout is
 * the address. Throws AppError `usage` for an invalid port, file, fault or flag before it listens.
 */
export async function run(options: DemoServeOptions, app: App): Promise<number> {
  const port = options.port ?? 0;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new AppError('usage', `--port ${port} is not a port`, { hint: 'Use 1 to 65535, or 0 for a free one.' });
  }
  checkFlags(options);
  const { server, replay } = await startServer(options, port, app);
  try {
    await app.io.out.write(
      `${server.url}\n` +
        `GEMINI_API_KEY=demo GOOGLE_GEMINI_BASE_URL=${server.url}\n` +
        `GOOGLE_GENAI_USE_GCA=true GOOGLE_CLOUD_ACCESS_TOKEN=demo CODE_ASSIST_ENDPOINT=${server.url}\n`,
    );
    await waitForAbort(app.signal);
    if (replay === undefined) return AppError.from(app.signal.reason).exitCode;
    const problems = formatProblems(replay, options);
    for (const problem of problems) await app.io.err.write(`gmn: ${problem}\n`);
    return problems.length === 0 ? 0 : 1;
  } finally {
    await server.close();
  }
}

/** Flags that mean nothing alone. */
const NEEDED: readonly (readonly [flag: keyof DemoServeOptions, name: string, needs: 'replay' | 'record'])[] = [
  ['match', '--match', 'replay'],
  ['ignore', '--ignore', 'replay'],
  ['speed', '--speed', 'replay'],
  ['chunks', '--chunks', 'replay'],
  ['seed', '--seed', 'replay'],
  ['allowUnused', '--allow-unused', 'replay'],
  ['recordMissing', '--record-missing', 'replay'],
];

function checkFlags(options: DemoServeOptions): void {
  const idle = NEEDED.find(([flag, , needs]) => options[flag] !== undefined && options[needs] === undefined);
  if (idle !== undefined) {
    throw new AppError('usage', `${idle[1]} means nothing without --${idle[2]}`, { hint: `Add --${idle[2]} <file>.` });
  }
  if (options.upstream !== undefined && options.record === undefined && !options.recordMissing) {
    throw new AppError('usage', '--upstream means nothing without --record', { hint: 'Add --record <file>.' });
  }
  if (options.speed !== undefined && !(options.speed >= 0)) {
    throw new AppError('usage', `--speed ${options.speed} is not a speed`, { hint: 'Use 0, 1, or any factor.' });
  }
}

async function startServer(
  options: DemoServeOptions,
  port: number,
  app: App,
): Promise<{ readonly server: DemoServer; readonly replay?: Replay }> {
  const { clock } = app;
  const faults = parseFaults(options.fault ?? []);
  const log = (line: string): void => {
    // A closed stderr must not stop the server.
    app.io.err.write(`${line}\n`).catch(() => undefined);
  };
  const serving = { port, log: options.quiet ? undefined : log };
  const upstream = checkEndpoint(options.upstream ?? SERVICE, '--upstream');
  if (options.record !== undefined) {
    const { send } = await openRecorder(options.record, app, { isProxy: true });
    return { server: await startProxy({ ...serving, upstream, send }) };
  }
  if (options.replay === undefined) {
    const script = options.script === undefined ? undefined : await readScript(options.script, app.cwd);
    return { server: await startDemo({ ...serving, faults, clock, script }) };
  }
  const { match, ignore, speed, chunks, seed } = options;
  const replay = await openReplayOf(options.replay, { match, ignore, speed, chunks, seed, clock }, app);
  const recorder = options.recordMissing ? await openRecorder(options.replay, app, { isProxy: true }) : undefined;
  const missing: ReplayServerOptions['missing'] =
    recorder && ((request, reply) => forward(request, reply, { upstream, send: recorder.send, log: serving.log }));
  return { replay, server: await startReplay({ ...serving, replay, faults, clock, missing }) };
}

async function readScript(path: string, cwd: string): Promise<readonly ScriptLine[]> {
  const bytes = await readBytes(resolve(cwd, path), {
    name: path,
    maxBytes: SCRIPT_LIMIT_BYTES,
    tooLarge: () => new AppError('usage', `${path} is larger than 64 MB`, { hint: 'Split the script.' }),
  });
  return parseScript(Buffer.from(bytes).toString('utf8'), path);
}
