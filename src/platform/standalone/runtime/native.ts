import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type {
  keepHeapSmall as keepHeapSmallNode,
  SystemUser,
  sha256 as sha256Node,
  readSystemUser as systemUserNode,
} from '../../runtime/native.ts';

declare const Bun: {
  readonly CryptoHasher: { hash(algorithm: 'sha256', data: string | Uint8Array, encoding: 'hex'): string };
};

/** Same contract as on Node, without the crypto module. */
export const sha256: typeof sha256Node = (data) => Bun.CryptoHasher.hash('sha256', data, 'hex');

/** A no-op: Bun does not use V8. */
export const keepHeapSmall: typeof keepHeapSmallNode = () => {};

/** Same contract as on Node. Bun's `userInfo` only repeats the environment. */
export const readSystemUser: typeof systemUserNode = () => {
  const uid = process.getuid?.();
  if (uid === undefined) return userInfo();
  const user = tryParsePasswd(readFileSync('/etc/passwd', 'utf8'), uid) ?? tryParsePasswd(queryUser(uid), uid);
  if (user === undefined) throw new Error('the user has no entry in the user database');
  return user;
};

/** On a Mac, and in most companies, users are defined elsewhere than in /etc/passwd. */
function queryUser(uid: number): string {
  const [program, ...args] =
    process.platform === 'darwin' ? ['/usr/bin/id', '-P'] : ['/usr/bin/getent', 'passwd', String(uid)];
  return spawnSync(program, args, { encoding: 'utf8', env: {} }).stdout ?? '';
}

/** `name:password:uid:gid:…:home:shell`, with more fields in the middle on a Mac. */
function tryParsePasswd(text: string, uid: number): SystemUser | undefined {
  const fields = text
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , id]) => id === String(uid));
  const [username, homedir] = [fields?.[0], fields?.at(-2)];
  return username === undefined || homedir === undefined ? undefined : { username, homedir };
}
