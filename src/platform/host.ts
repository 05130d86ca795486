import { hostname } from 'node:os';
import type { Env } from '../core/io.ts';
import { realPath } from './files/path.ts';
import { readSystemUser } from './runtime/native.ts';
import { isStandalone } from './runtime/system.ts';
import { isInteractive } from './terminal/io.ts';

export interface Machine {
  readonly platform: string;
  readonly hostname: string;
  readonly username: string;
  readonly isInteractive: boolean;
  readonly securityProgram: string;
  readonly uid: number | undefined;
  readonly keyringModule: () => string | undefined;
}

export function detectMachine(): Machine {
  return {
    platform: process.platform,
    hostname: hostname(),
    username: readUsername(),
    isInteractive: isInteractive(),
    uid: process.getuid?.(),
    securityProgram: '/usr/bin/security',
    keyringModule: findKeyringModule,
  };
}

function readUsername(): string {
  try {
    return readSystemUser().username;
  } catch {
    return '';
  }
}

/** Near the started program: native code cannot be bundled. A separate Node runs it: the executable has none. */
function findKeyringModule(): string | undefined {
  if (isStandalone()) return undefined;
  try {
    const { createRequire } = process.getBuiltinModule('node:module');
    const { realpathSync } = process.getBuiltinModule('node:fs');
    return createRequire(realpathSync(process.argv[1] ?? '.')).resolve('@napi-rs/keyring');
  } catch {
    return undefined;
  }
}

export interface Runtime {
  /** The Node version, without `v`. */
  readonly node: string;
  readonly builtIn: string | undefined;
  readonly platform: string;
  readonly arch: string;
  readonly program: string | undefined;
}

export function detectRuntime(): Runtime {
  const { versions, platform, arch, argv, execPath } = process;
  const isAlone = isStandalone();
  const program = isAlone ? execPath : argv[1];
  return {
    node: versions.node,
    builtIn: isAlone ? `Bun ${versions.bun ?? '(unknown version)'}` : undefined,
    platform,
    arch,
    program: program === undefined ? undefined : realPath(program),
  };
}

/** The user's home directories, free of links: from HOME, and from the system. Never throws. */
export function findUserHomes(env: Env): readonly string[] {
  return [env.HOME, findSystemHome()].flatMap((home) =>
    home === undefined || home === '' ? [] : (realPath(home) ?? home),
  );
}

let cachedHome: string | undefined;

function findSystemHome(): string | undefined {
  try {
    cachedHome ??= readSystemUser().homedir;
    return cachedHome;
  } catch {
    // No entry in the password file, or a directory service that does not answer right now: not cached.
    return undefined;
  }
}
