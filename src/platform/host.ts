import { hostname } from 'node:os';
import type { Env } from '../core/io.ts';
import { realPath } from './files/path.ts';
import { systemUser } from './runtime/native.ts';
import { isStandalone } from './runtime/system.ts';
import { isAttended } from './terminal/io.ts';

/** What the credential stores of a system depend on. */
export interface Machine {
  readonly platform: string;
  readonly hostname: string;
  readonly username: string;
  /** Whether a person could answer a question of the system. */
  readonly isAttended: boolean;
  /** The macOS program that reads the Keychain. */
  readonly securityProgram: string;
  /** The user's number, by which files are told apart; undefined on systems without one. */
  readonly uid: number | undefined;
  /** The file of the keyring library; undefined if it is not installed, or cannot be run. */
  readonly keyringModule: () => string | undefined;
}

/** The machine this process runs on. Never throws. */
export function thisMachine(): Machine {
  return {
    platform: process.platform,
    hostname: hostname(),
    username: username(),
    isAttended: isAttended(),
    uid: process.getuid?.(),
    securityProgram: '/usr/bin/security',
    keyringModule,
  };
}

function username(): string {
  try {
    return systemUser().username;
  } catch {
    return '';
  }
}

/**
 * Native code cannot be bundled, so the library is looked for where npm put it: near the program that was started. It runs
 * in a Node of its own, which a standalone executable does not have.
 */
function keyringModule(): string | undefined {
  if (isStandalone()) return undefined;
  try {
    const { createRequire } = process.getBuiltinModule('node:module');
    const { realpathSync } = process.getBuiltinModule('node:fs');
    return createRequire(realpathSync(process.argv[1] ?? '.')).resolve('@napi-rs/keyring');
  } catch {
    return undefined;
  }
}

/** What runs us. */
export interface Runtime {
  /** Of Node, without a `v`. */
  readonly node: string;
  /** What is inside the executable in the place of Node, with its version; undefined where Node runs us. */
  readonly builtIn: string | undefined;
  readonly platform: string;
  readonly arch: string;
  /** The real path of the program that was started; undefined if it cannot be told. */
  readonly program: string | undefined;
}

/** The Node and the program of this process. Never throws. */
export function thisRuntime(): Runtime {
  const { versions, platform, arch, argv, execPath } = process;
  const isAlone = isStandalone();
  const program = isAlone ? execPath : argv[1];
  return {
    node: versions.node,
    builtIn: isAlone ? `Bun ${versions.bun ?? 'of no known version'}` : undefined,
    platform,
    arch,
    program: program === undefined ? undefined : realPath(program),
  };
}

/** The directories that are this person's home, free of links: what HOME says, and what the system knows. Never throws. */
export function userHomes(env: Env): readonly string[] {
  return [env.HOME, systemHome()].flatMap((home) =>
    home === undefined || home === '' ? [] : (realPath(home) ?? home),
  );
}

let known: string | undefined;

function systemHome(): string | undefined {
  try {
    // It is the same for as long as this process runs; a server asks with every call.
    known ??= systemUser().homedir;
    return known;
  } catch {
    // A user without an entry in the password file, or a directory service that does not answer now: that is not remembered.
    return undefined;
  }
}
