import { hostname } from 'node:os';
import { isStandalone } from './runtime/standalone.ts';
import { systemUser } from './runtime/system-user.ts';
import { isAttended } from './terminal/terminal.ts';

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
