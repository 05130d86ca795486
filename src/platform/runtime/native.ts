import { userInfo } from 'node:os';

/** The SHA-256 of a text, in hex. Loads the crypto module with the first call, which a run may never make. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text, 'utf8').digest('hex');
}

/** The newest Node that was seen to know the flag; one that does not would say so on stderr. */
const NEWEST_KNOWN = 24;

/**
 * Keeps V8's young generation at the size it has now, for the rest of the process; where that cannot be done, does nothing.
 * It would double up to twice 16 MB under a long stream, all of it garbage. V8 reads the flag whenever it might grow.
 */
export function keepYoungGenerationSmall(): void {
  if (Number.parseInt(process.versions.node, 10) > NEWEST_KNOWN) return;
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
}

export interface SystemUser {
  readonly username: string;
  readonly homedir: string;
}

/** The user of this process as the system knows them, whatever the environment says. Throws if it does not. */
export function systemUser(): SystemUser {
  return userInfo();
}
