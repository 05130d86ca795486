import { userInfo } from 'node:os';

export interface SystemUser {
  readonly username: string;
  readonly homedir: string;
}

/** The user of this process as the system knows them, whatever the environment says. Throws if it does not. */
export function systemUser(): SystemUser {
  return userInfo();
}
