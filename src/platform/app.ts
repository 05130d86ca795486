import { resolve } from 'node:path';
import type { App, Homes, Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import {
  type ClaimedStdout,
  type Env,
  type HttpTimers,
  NO_STDIN,
  type Out,
  type Stdin,
  type Trace,
} from '../core/io.ts';
import { parseEnvDuration } from '../core/text/format.ts';
import type { createHttpClient } from './http/send.ts';
import { onAbort } from './runtime/abort.ts';
import { systemClock } from './runtime/clock.ts';
import { onProcessExit } from './runtime/exit.ts';
import { createInterruptSignal } from './runtime/signals.ts';
import { findUserHome } from './runtime/system.ts';
import { type ColorChoice, type ProcessIo, processIo } from './terminal/io.ts';
import { processStdin } from './terminal/stdin.ts';

export interface AppOptions {
  readonly color?: ColorChoice;
  readonly noColor?: boolean;
  readonly cwd?: string;
  readonly debug?: boolean;
  readonly debugFile?: string;
  /** A recording that answers in place of the service. */
  readonly replay?: string;
  readonly match?: 'strict' | 'order' | 'last-user';
  readonly ignore?: readonly string[];
}

/** Where a line is run: its streams, and what interrupts it. */
export interface World {
  openIo(flags: AppOptions, env: Env): ProcessIo;
  readonly stdin: Stdin;
  claimStdout(): Promise<ClaimedStdout>;
  createInterruptSignal(): AbortSignal;
}

export const processWorld: World = {
  openIo,
  stdin: processStdin,
  claimStdout: async () => (await import('./terminal/claimed-stdout.ts')).claimStdout(),
  createInterruptSignal,
};

/** Creates the App of this process. Settings are read on first use. */
export async function createApp(options: {
  readonly version: string;
  readonly env: Env;
  readonly flags: AppOptions;
  readonly io: ProcessIo;
  readonly world: World;
  readonly secrets: readonly string[];
  readonly findHomes: (env: Env, userHome: () => string, nowhere: string) => Homes;
  readonly loadSettings: (app: Pick<App, 'env' | 'cwd' | 'homes'>) => Promise<Settings>;
}): Promise<App> {
  const { version, flags, io, world } = options;
  const env = dropTlsOverride(options.env);
  const trace = await openTrace(flags, options.secrets);
  const cwd = enterWorkingDirectory(flags.cwd);
  let foundHomes: Homes | undefined;
  const homes = (): Homes => (foundHomes ??= options.findHomes(env, findUserHome, NOWHERE));
  const timers = parseHttpTimers(env);
  const signal = world.createInterruptSignal();
  onAbort(signal, () => io.expireWrites(AppError.from(signal.reason)));
  let settings: Promise<Settings> | undefined;
  return {
    version,
    io,
    stdin: world.stdin,
    claimStdout: world.claimStdout,
    env,
    cwd,
    clock: systemClock,
    random: Math.random,
    signal,
    onExit: onProcessExit,
    expireWrites: io.expireWrites,
    trace: trace ?? (() => {}),
    ...createLazyHttpClient(() => timers, env, trace),
    httpTimers: timers,
    homes,
    settings: () => (settings ??= options.loadSettings({ env, cwd, homes })),
  };
}

/** What all runs in a program that imports gmn share. */
export interface Guest {
  readonly version: string;
  readonly http: LazyHttpClient;
}

export function createGuest(version: string): Guest {
  const { env } = process;
  return { version, http: createLazyHttpClient(() => parseHttpTimers(env), env, undefined) };
}

interface GuestOptions {
  /** Over the environment of the process. */
  readonly env: Env;
  readonly cwd: string | undefined;
  readonly signal: AbortSignal;
  readonly findHomes: (env: Env, userHome: () => string, nowhere: string) => Homes;
  readonly loadSettings: (app: Pick<App, 'env' | 'cwd' | 'homes'>) => Promise<Settings>;
}

/** An App in a program that imports gmn: it prints nothing, handles no signals, and leaves the process as it is. */
export function createGuestApp({ version, http }: Guest, options: GuestOptions): App {
  const { signal } = options;
  const env = { ...process.env, ...options.env };
  const cwd = resolve(options.cwd ?? readCurrentDirectory());
  let foundHomes: Homes | undefined;
  const homes = (): Homes => (foundHomes ??= options.findHomes(env, findUserHome, NOWHERE));
  let settings: Promise<Settings> | undefined;
  return {
    ...{ version, env, cwd, signal, homes, ...http },
    io: { out: SILENT, err: SILENT },
    stdin: NO_STDIN,
    claimStdout: () => Promise.reject(new AppError('internal', 'stdout belongs to the program that imports gmn')),
    clock: systemClock,
    random: Math.random,
    onExit: onProcessExit,
    expireWrites: () => {},
    trace: () => {},
    httpTimers: parseHttpTimers(env),
    settings: () => (settings ??= options.loadSettings({ env, cwd, homes })),
  };
}

const SILENT: Out = { write: async () => {}, isTerminal: false, columns: 80, isStyled: false };

/** Node looks at process.env on every connection, so this variable is removed there; the copy still has it. */
function dropTlsOverride(env: Env): Env {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return env;
  const kept = { ...env };
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  return kept;
}

/** A path that is no directory, so nothing can be in it. */
const NOWHERE = process.platform === 'win32' ? '\\\\.\\NUL' : '/dev/null';

function openIo(flags: AppOptions, env: Env): ProcessIo {
  return processIo(flags.noColor ? 'never' : (flags.color ?? 'auto'), env);
}

async function openTrace(flags: AppOptions, secrets: readonly string[]): Promise<Trace | undefined> {
  if (!flags.debug && flags.debugFile === undefined) return undefined;
  const { debugTrace } = await import('./files/trace.ts');
  return debugTrace({ file: flags.debugFile, clock: systemClock, secrets: new Set(secrets) });
}

function enterWorkingDirectory(wanted: string | undefined): string {
  if (wanted === undefined) return readCurrentDirectory();
  try {
    process.chdir(resolve(wanted));
    return process.cwd();
  } catch (cause) {
    throw new AppError('usage', `--cwd: cannot enter ${wanted}`, {
      cause,
      hint: 'Name a directory that exists.',
    });
  }
}

function readCurrentDirectory(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new AppError('usage', 'the directory gmn was started in is gone', { cause, hint: 'Go to another: cd ~' });
  }
}

function parseHttpTimers(env: Env): HttpTimers {
  return {
    connectMs: parseEnvDuration(env, 'GMN_CONNECT_TIMEOUT', 10_000),
    headersMs: parseEnvDuration(env, 'GMN_HEADERS_TIMEOUT', 60_000),
    idleMs: parseEnvDuration(env, 'GMN_IDLE_TIMEOUT', 120_000),
  };
}

type LazyHttpClient = Pick<App, 'send' | 'preconnect'>;

function createLazyHttpClient(readTimers: () => HttpTimers, env: Env, trace: Trace | undefined): LazyHttpClient {
  let loaded: Promise<ReturnType<typeof createHttpClient>> | undefined;
  const load = () =>
    (loaded ??= import('./http/send.ts').then(({ createHttpClient: create }) =>
      create({ timers: readTimers(), env, trace, clock: systemClock }),
    ));
  return {
    send: async (request, signal) => (await load()).send(request, signal),
    // The request that follows reports what is wrong, for example with the proxy variables.
    preconnect: (url) =>
      void load()
        .then((client) => client.preconnect(url))
        .catch(() => {}),
  };
}
