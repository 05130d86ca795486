import { spawn } from 'node:child_process';
import type { KeyringAnswer, KeyringEntry } from './keyring.ts';

/** What `security` answers when there is no such entry. */
const NOT_FOUND = 44;

/** Reads a generic password from the macOS Keychain with the system's own program. Never throws. */
export function readKeychain(program: string, entry: KeyringEntry, limitMs: number): Promise<KeyringAnswer> {
  return new Promise((resolve) => {
    const args = ['find-generic-password', '-s', entry.service, '-a', entry.account, '-w'];
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    child.on('error', () => resolve({ kind: 'unavailable', why: 'failed' }));
    child.on('close', (code, signal) => {
      if (code === 0) resolve({ kind: 'secret', secret: decode(output.replace(/\n$/, '')) });
      else if (code === NOT_FOUND) resolve({ kind: 'nothing' });
      else resolve({ kind: 'unavailable', why: signal === 'SIGKILL' ? 'timeout' : 'failed' });
    });
  });
}

/** A password with characters beyond ASCII is printed as hex. Ours are JSON, so they never look like that by themselves. */
function decode(password: string): string {
  return /^(?:[0-9a-f]{2})+$/i.test(password) ? Buffer.from(password, 'hex').toString('utf8') : password;
}
