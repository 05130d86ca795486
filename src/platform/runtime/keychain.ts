import { type KeyringAnswer, type KeyringEntry, runHelper } from './keyring.ts';

/** What `security` answers when there is no such entry. */
const NOT_FOUND = 44;

/** Reads a generic password from the macOS Keychain with the system's own program. Never throws. */
export async function readKeychain(program: string, entry: KeyringEntry, limitMs: number): Promise<KeyringAnswer> {
  const args = ['find-generic-password', '-s', entry.service, '-a', entry.account, '-w'];
  const { code, output } = await runHelper({ program, args, input: '', limitMs });
  if (code === 0) return { kind: 'secret', secret: decode(output.replace(/\n$/, '')) };
  if (code === NOT_FOUND) return { kind: 'nothing' };
  return { kind: 'unavailable', why: code === 'timeout' ? 'timeout' : 'failed' };
}

/** A password with characters beyond ASCII is printed as hex. Ours are JSON, so they never look like that by themselves. */
function decode(password: string): string {
  return /^(?:[0-9a-f]{2})+$/i.test(password) ? Buffer.from(password, 'hex').toString('utf8') : password;
}
