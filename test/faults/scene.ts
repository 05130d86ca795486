import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'vitest';
import { CANARIES, plantedHome, signIn } from '../support/canaries.ts';
import { gmnCommand, place } from '../support/gmn.ts';
import { listTree } from '../support/temporary.ts';
import type { Problem, ProblemKind, Variant, Way } from './fault.ts';
import { type Ended, formatFlags, type Started, start } from './started.ts';
import { fingerprint, marked } from './traces.ts';
import { type WireProxy, wireProxy } from './wire-proxy.ts';
import { type WireServer, wireServer } from './wire-server.ts';

const PRELOAD = fileURLToPath(new URL('peak-memory.cjs', import.meta.url));
const PROMPT = 'hello';
/** How long a run may take, unless its variant says otherwise. */
export const WITHIN_MS = 30_000;

export interface RunOptions {
  readonly stdin?: string | Uint8Array | 'open';
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly columns?: number;
  /** What runs the program: gmn's path and the arguments come behind it. */
  readonly under?: readonly string[];
  /** Another gmn than the one that was built. */
  readonly program?: string;
}

/** One place with its servers, in which a variant is played; everything it starts is looked after. */
export interface Scene {
  readonly t: TestContext;
  readonly way: Way;
  readonly root: string;
  readonly home: string;
  readonly cwd: string;
  /** gmn's own directory. */
  readonly gmnHome: string;
  readonly env: Readonly<Record<string, string>>;
  /** `GMN_RIG=…`, to be handed on to servers whose environment is not inherited. */
  readonly marker: readonly [name: string, value: string];
  readonly server: WireServer;
  readonly proxy: WireProxy | undefined;
  /** Starts gmn with these arguments, exactly. */
  start(args: readonly string[], options?: RunOptions): Started;
  /** Starts it with the variant's format, arguments and input, or these. */
  launch(args?: readonly string[], options?: RunOptions): Started;
  /** The same, to its end. */
  run(args?: readonly string[], options?: RunOptions): Promise<Ended>;
  problem(kind: ProblemKind, detail: string): void;
  readonly problems: readonly Problem[];
  readonly started: readonly Started[];
  /** The official CLI's directory as it was at the start. */
  readonly geminiBefore: string;
  /** Ends every process of this scene. */
  kill(): void;
}

/** Prepares the place of one run of a variant. */
export async function openScene(t: TestContext, variant: Variant, way: Way): Promise<Scene> {
  const server = await wireServer(t, variant);
  const proxy = variant.proxy && (await wireProxy(t, variant.proxy));
  const home = { ...homeOf(variant), ...variant.home };
  const here = place(t, { files: variant.files ?? {}, home, isFirstRun: variant.isFirstRun ?? false });
  const marker = ['GMN_RIG', randomUUID()] as const;
  const gmnHome = join(here.home, '.gmn');
  closeModes(gmnHome);
  mkdirSync(join(here.root, 'tmp'));
  const env = {
    ...here.env,
    TMPDIR: join(here.root, 'tmp'),
    ...envOf(variant, server),
    ...Object.fromEntries([marker]),
  };
  const named = {
    SERVER: server.url,
    PORT: String(server.port),
    PROXY: proxy?.address ?? '',
    HOME: here.home,
    WORK: here.cwd,
  };
  const given = Object.fromEntries(
    Object.entries(variant.env ?? {}).map(([name, text]) => [name, filled(text, named)]),
  );
  const problems: Problem[] = [];
  const started: Started[] = [];
  const kill = (): void => {
    for (const pid of marked(marker.join('='))) if (pid !== process.pid) process.kill(pid, 'SIGKILL');
  };
  t.onTestFinished(kill);
  const begin: Scene['start'] = (args, options = {}) => {
    const notes = join(here.root, `run-${started.length}`);
    const run = start({
      way,
      command: commandOf(args, options),
      cwd: options.cwd ?? here.cwd,
      env: {
        ...env,
        NODE_OPTIONS: `--require=${PRELOAD}`,
        GMN_RIG_MEMORY: `${notes}.memory`,
        ...given,
        ...options.env,
      },
      notes,
      kill,
      withinMs: variant.withinMs ?? WITHIN_MS,
      ...inputOf(variant, options),
      ...(options.columns === undefined ? {} : { columns: options.columns }),
    });
    started.push(run);
    return run;
  };
  const launch: Scene['launch'] = (args = variant.args ?? [PROMPT], options = {}) =>
    begin([...formatFlags(way.format), ...args], options);
  return {
    ...{ t, proxy },
    ...{ way, root: here.root, home: here.home, cwd: here.cwd, gmnHome, env, marker, server, problems, started, kill },
    start: begin,
    launch,
    run: (args, options) => launch(args, options).ended,
    problem: (kind, detail) => void problems.push({ kind, detail }),
    geminiBefore: fingerprint(join(here.home, '.gemini')),
  };
}

function filled(text: string, named: Readonly<Record<string, string>>): string {
  return text.replace(/SERVER|PORT|PROXY|HOME|WORK/g, (name) => named[name] ?? '');
}

function commandOf(args: readonly string[], { under = [], program }: RunOptions): readonly [string, ...string[]] {
  const command = program === undefined ? gmnCommand(args).flat() : [process.execPath, program, ...args];
  const [first, ...more] = [...under, ...command];
  return [first ?? '', ...more];
}

function inputOf({ stdin: given }: Variant, { stdin = given }: RunOptions): { stdin?: string | Uint8Array } {
  return stdin === undefined ? {} : { stdin };
}

/** A secret in every place that a run may look into. */
function homeOf({ signIn: kind }: Variant): Readonly<Record<string, string>> {
  const { '.gmn/key.json': key = '' } = PLANTED;
  if (kind === undefined) return { '.gemini/oauth_creds.json': signIn(), '.gmn/key.json': key };
  return { '.gemini/oauth_creds.json': signIn(kind === 'stale'), '.gmn/sign-in-note-shown': '' };
}

const PLANTED = plantedHome();

function envOf({ signIn: kind }: Variant, { url }: WireServer): Readonly<Record<string, string>> {
  return {
    ...(kind === undefined
      ? { GEMINI_API_KEY: CANARIES.geminiKey }
      : { GMN_OAUTH_CLIENT_ID: CANARIES.clientId, GMN_OAUTH_CLIENT_SECRET: CANARIES.clientSecret }),
    GOOGLE_GEMINI_BASE_URL: url,
    CODE_ASSIST_ENDPOINT: url,
    GMN_OAUTH_TOKEN_URL: `${url}/token`,
  };
}

/** What the rig itself puts there must not look as if gmn had left it open. */
function closeModes(directory: string): void {
  if (!existsSync(directory)) return;
  chmodSync(directory, 0o700);
  for (const entry of listTree(directory)) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
  }
}
