import { userInfo } from 'node:os';

/** SHA-256 in hex. Loads the crypto module on the first call, which a run may never make. */
export function sha256(data: string | Uint8Array): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', data);
}

/** The newest Node known to accept the flags; another might print a warning on stderr. */
const NEWEST_KNOWN = 24;

/** For a batch, which may run for hours. Costs less than a tenth more CPU time. */
export function keepHeapSmall(): void {
  if (Number.parseInt(process.versions.node, 10) > NEWEST_KNOWN) return;
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  for (const flag of ['--semi-space-growth-factor=1', '--no-parallel-scavenge', '--heap-growing-percent=20']) {
    setFlagsFromString(flag);
  }
}

export interface SystemUser {
  readonly username: string;
  readonly homedir: string;
}

/** The user of this process according to the system, not the environment. Throws if unknown. */
export function readSystemUser(): SystemUser {
  return userInfo();
}
