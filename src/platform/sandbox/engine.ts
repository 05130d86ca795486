import { existsSync, readFileSync, statSync } from 'node:fs';
import type { ConfinedStart, EngineName, ProgramStart } from '../../core/confine.ts';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { spawnConfined } from '../process/confine.ts';
import { helperEnvironment } from '../process/environment.ts';
import { findHelper } from '../process/program-path.ts';
import { errorReason } from '../runtime/system.ts';
import { confineByBubblewrap } from './bubblewrap.ts';
import { confineByContainer } from './container.ts';
import { identifyPaths } from './entry.ts';
import { listKernelFiles } from './kernel-files.ts';
import type { SandboxProfile } from './profile.ts';
import { confineBySeatbelt, SANDBOX_EXEC } from './seatbelt.ts';
import { createSeccompFilter } from './seccomp.ts';
import { confineByUnshare, readMounts } from './unshare.ts';

/** What confines a program here. */
export interface SandboxEngine {
  readonly name: EngineName;
  /** Absolute. */
  readonly program: string;
  /** Whether each sandbox has a /tmp and a network of its own. */
  readonly hasNamespaces: boolean;
  confine(profile: SandboxProfile, start: ProgramStart, scratch: string): ConfinedStart;
}

export interface EngineContext {
  readonly env: Env;
  /** No program of theirs is used. */
  readonly roots: readonly string[];
  /** For containers. */
  readonly image?: string;
  /** Whether an engine works is found out once a boot. */
  readonly cache?: ProbeCache;
  readonly platform?: string;
}

export interface ProbeCache {
  has(key: string): boolean;
  add(key: string): Promise<void>;
}

type Attempt = { readonly engine: SandboxEngine } | { readonly why: string };

/** In this order; a container is used only if it is named. */
const AUTO: Readonly<Record<string, readonly EngineName[]>> = { linux: ['bwrap', 'unshare'], darwin: ['seatbelt'] };

const INSTALL =
  'Install bubblewrap: apt install bubblewrap, dnf install bubblewrap, apk add bubblewrap, pacman -S bubblewrap. What works: gmn doctor';

export function listAutoEngines(platform: string = process.platform): readonly EngineName[] {
  return AUTO[platform] ?? [];
}

/** Throws AppError `config` if there is none, or the named one does not work. */
export async function chooseEngine(wanted: EngineName | 'auto', context: EngineContext): Promise<SandboxEngine> {
  const { platform = process.platform } = context;
  const names = wanted === 'auto' ? listAutoEngines(platform) : [wanted];
  const reasons: string[] = [];
  for (const name of names) {
    const attempt = await tryEngine(name, context);
    if ('engine' in attempt) return attempt.engine;
    reasons.push(`${name}: ${attempt.why}`);
  }
  const why = reasons.length === 0 ? `there is none for ${platform}` : reasons.join('; ');
  const hint = platform === 'linux' ? INSTALL : 'A container has one: --sandbox docker, --sandbox podman';
  throw new AppError('config', `no sandbox can be made: ${why}`, { hint });
}

/** Finds the engine, and starts something in it once a boot. Never throws. */
export async function tryEngine(name: EngineName, context: EngineContext): Promise<Attempt> {
  try {
    const found = findEngine(name, context);
    if ('why' in found) return found;
    const key = createProbeKey(found.engine, context);
    if (context.cache?.has(key)) return found;
    const why = await probe(found.engine);
    if (why !== undefined) return { why };
    await context.cache?.add(key);
    return found;
  } catch (thrown) {
    return { why: errorReason(thrown) };
  }
}

function findEngine(name: EngineName, { env, roots, image, platform = process.platform }: EngineContext): Attempt {
  const system = name === 'seatbelt' ? 'darwin' : 'linux';
  if (name !== 'docker' && name !== 'podman' && platform !== system) return { why: `it is for ${system} only` };
  const find = (program: string): string | undefined => findHelper(program, env, roots);
  const require = (program: string): string => {
    const path = find(program);
    if (path === undefined)
      throw new AppError('config', program === name ? 'not installed' : `${program} is not installed`);
    return path;
  };
  const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  try {
    switch (name) {
      case 'bwrap': {
        const program = require('bwrap');
        const programs = { stat: require('stat'), cat: require('cat') };
        const kernelFiles = listKernelFiles(user);
        return toEngine(name, program, (profile, start) => {
          const filter = requireFilter(profile, true);
          const identified = identify(profile);
          return confineByBubblewrap({ program, programs, profile, filter, kernelFiles, identified }, start);
        });
      }
      case 'unshare': {
        const programs = {
          ...{ unshare: require('unshare'), setpriv: require('setpriv'), setsid: require('setsid') },
          ...{ mount: require('mount'), umount: require('umount'), stat: require('stat'), cat: require('cat') },
          ...{ ip: find('ip') ?? findSystemProgram('ip'), perl: find('perl') },
        };
        const kernelFiles = listKernelFiles(user);
        return toEngine(name, programs.unshare, (profile, start) => {
          const filter = requireFilter(profile, programs.perl !== undefined);
          const [mounts, identified] = [readMounts(), identify(profile)];
          return confineByUnshare({ programs, profile, filter, kernelFiles, user, mounts, identified }, start);
        });
      }
      case 'seatbelt':
        return existsSync(SANDBOX_EXEC)
          ? toEngine(name, SANDBOX_EXEC, confineBySeatbelt)
          : { why: `there is no ${SANDBOX_EXEC}` };
      case 'docker':
      case 'podman': {
        if (!image) return { why: 'it needs an image with your tools: GMN_SANDBOX_IMAGE=<image>' };
        const program = require(name);
        const client = { ...helperEnvironment(env, roots), ...pickClientVariables(env) };
        return toEngine(name, program, (profile, start) =>
          confineByContainer({ program, name, image, profile, user, env: client }, start),
        );
      }
    }
  } catch (thrown) {
    if (thrown instanceof AppError) return { why: thrown.message };
    throw thrown;
  }
}

/** How docker and podman find their service, their images and their configuration. */
function pickClientVariables(env: Env): Record<string, string> {
  const names = Object.keys(env).filter((name) => /^(?:DOCKER|CONTAINERS?)_[A-Z_]+$|^REGISTRY_AUTH_FILE$/.test(name));
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

function toEngine(name: EngineName, program: string, confine: SandboxEngine['confine']): Attempt {
  return { engine: { name, program, confine, hasNamespaces: name === 'bwrap' || name === 'unshare' } };
}

/**
 * Undefined where there can be none. Throws AppError `config` if there must be one: in the network of the machine, abstract sockets of programs with
 * all rights of the user are refused by nothing else.
 */
function requireFilter({ network }: SandboxProfile, canFilter: boolean): Uint8Array | undefined {
  const refusesUnixSockets = network.kind === 'all';
  const filter = canFilter ? createSeccompFilter({ refusesUnixSockets }, process.arch) : undefined;
  if (filter !== undefined || !refusesUnixSockets) return filter;
  throw new AppError('config', '--sandbox-net all needs a filter of system calls, which cannot be made here', {
    hint: canFilter ? 'Name the hosts: --sandbox-net packages.example.org' : INSTALL,
  });
}

/** What a link could lead elsewhere while the engine starts. */
function identify(profile: SandboxProfile) {
  return identifyPaths([...profile.writable, ...profile.pinned, ...profile.protected]);
}

/** Programs for administrators are on nobody's PATH, as a rule. */
function findSystemProgram(name: string): string | undefined {
  return ['/usr/sbin', '/sbin'].map((directory) => `${directory}/${name}`).find((path) => existsSync(path));
}

const PROBE_MS = 10_000;

const EMPTY_PROFILE: SandboxProfile = {
  ...{ writable: [], pinned: [], protected: [], shown: [], secretDirectories: [], secretFiles: [] },
  hidden: process.platform === 'linux' ? ['/tmp'] : [],
  network: { kind: 'none' },
};

/** Why the engine cannot run a program that does nothing; undefined if it can. */
function probe({ name, confine }: SandboxEngine): Promise<string | undefined> {
  // An image may be fetched first, and what is in it is not known: the first command will tell.
  if (name === 'docker' || name === 'podman') return Promise.resolve(undefined);
  const start = confine(EMPTY_PROFILE, { command: '/bin/sh', args: ['-c', ':'], cwd: '/', env: {} }, '/tmp');
  return new Promise((resolve) => {
    const limits = { timeout: PROBE_MS, killSignal: 'SIGKILL' } as const;
    const child = spawnConfined(start, ['ignore', 'ignore', 'pipe'], limits);
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(0, 500);
    });
    child.once('error', (error) => resolve(errorReason(error)));
    child.once('close', (code) =>
      resolve(code === 0 ? undefined : sanitize(said.trim().split('\n')[0] ?? '') || `it ended with exit code ${code}`),
    );
  });
}

function createProbeKey({ name, program }: SandboxEngine, { image = '' }: EngineContext): string {
  const boot = process.platform === 'linux' ? readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim() : '';
  return [name, program, statSync(program).mtimeMs, process.getuid?.(), boot, image].join(' ');
}
