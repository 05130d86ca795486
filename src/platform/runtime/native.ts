import { userInfo } from 'node:os';

/** SHA-256 in hex. Loads the crypto module on the first call, which a run may never make. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text, 'utf8').digest('hex');
}

/** The newest Node known to accept the flags; another might print a warning on stderr. */
const NEWEST_KNOWN = 24;

/**
 * For a process that runs for hours: collects garbage when there is a fifth of the heap more, where V8 would wait for several
 * times as much. Costs less than a tenth more CPU time.
 */
export function keepHeapSmall(): void {
  if (Number.parseInt(process.versions.node, 10) > NEWEST_KNOWN) return;
  process.getBuiltinModule('node:v8').setFlagsFromString('--heap-growing-percent=20');
}

export interface SystemUser {
  readonly username: string;
  readonly homedir: string;
}

/** The user of this process according to the system, not the environment. Throws if unknown. */
export function readSystemUser(): SystemUser {
  return userInfo();
}
