import { spawn } from 'node:child_process';
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { isObject } from '../../core/json.ts';
import { startTimer } from '../runtime/clock.ts';
import { helperEnvironment } from './environment.ts';

/**
 * Runs in its own process, because a keyring that waits for its daemon or the user cannot be interrupted. Secrets go
 * through pipes, never as arguments. `linux.store`: the kernel's keyring would lose them at logout.
 */
const HELPER = `
let text = '';
process.stdin.setEncoding('utf8').on('data', (chunk) => { text += chunk; }).on('end', () => {
  const { module, action, service, account, secret } = JSON.parse(text);
  const { Entry } = require(module);
  const entry = new Entry(service, account, { linux: { store: 'secret-service' } });
  let value = null;
  if (action === 'get') value = entry.getPassword();
  if (action === 'set') entry.setPassword(secret);
  if (action === 'delete') value = entry.deletePassword() ? 'deleted' : null;
  process.stdout.write(JSON.stringify({ value: value === undefined ? null : value }));
});
`;

export interface KeyringEntry {
  readonly service: string;
  readonly account: string;
}

type KeyringResult =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unavailable'; readonly why: 'failed' | 'timeout' };

/** The operating system's keyring, through the optional library. No method throws. */
export function createKeyring(module: string) {
  return {
    get: (entry: KeyringEntry, limitMs: number) => ask({ module, action: 'get', ...entry }, limitMs),
    set: (entry: KeyringEntry, secret: string, limitMs: number) =>
      ask({ module, action: 'set', ...entry, secret }, limitMs),
    delete: (entry: KeyringEntry, limitMs: number) => ask({ module, action: 'delete', ...entry }, limitMs),
  };
}

async function ask(request: Readonly<Record<string, string>>, limitMs: number): Promise<KeyringResult> {
  const input = JSON.stringify(request);
  const { code, output } = await runHelper(process.execPath, ['-e', HELPER], input, limitMs);
  if (code === 0) return toKeyringResult(output);
  return { kind: 'unavailable', why: code === 'timeout' ? 'timeout' : 'failed' };
}

/** It gets none of our keys, and no variable that loads code into it (`NODE_OPTIONS`). Never throws. */
function runHelper(program: string, args: readonly string[], input: string, limitMs: number) {
  return new Promise<{ readonly code: number | 'timeout' | 'failed'; readonly output: string }>((resolve) => {
    const child = spawn(program, args, {
      env: helperEnvironment(process.env, [process.cwd()]),
      stdio: ['pipe', 'pipe', 'ignore'],
      windowsHide: true,
    });
    const stopTimer = startTimer(limitMs, () => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    const finish = (code: number | 'timeout' | 'failed'): void => {
      stopTimer();
      resolve({ code, output });
    };
    child.on('error', () => finish('failed'));
    child.on('close', (code, signal) => finish(code ?? (signal === 'SIGKILL' ? 'timeout' : 'failed')));
    // It may have died before reading.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

function toKeyringResult(output: string): KeyringResult {
  try {
    const answer: unknown = JSON.parse(output);
    if (isObject(answer) && typeof answer.value === 'string') return { kind: 'secret', secret: answer.value };
    return { kind: 'nothing' };
  } catch {
    return { kind: 'unavailable', why: 'failed' };
  }
}

const NOT_FOUND = 44;

export async function readKeychain(program: string, entry: KeyringEntry, limitMs: number): Promise<KeyringResult> {
  const args = ['find-generic-password', '-s', entry.service, '-a', entry.account, '-w'];
  const { code, output } = await runHelper(program, args, '', limitMs);
  if (code === 0) return { kind: 'secret', secret: decodePassword(output.replace(/\n$/, '')) };
  if (code === NOT_FOUND) return { kind: 'nothing' };
  return { kind: 'unavailable', why: code === 'timeout' ? 'timeout' : 'failed' };
}

/** A password with characters beyond ASCII is printed as hex. Ours are JSON, so they never look like hex themselves. */
function decodePassword(password: string): string {
  return /^(?:[0-9a-f]{2})+$/i.test(password) ? Buffer.from(password, 'hex').toString('utf8') : password;
}

const CIPHER = 'aes-256-gcm';
const TAG_BYTES = 16;

/** AES-256-GCM, the key derived by scrypt: the format of the official CLI's encrypted file. */
export function sealedBox(password: string, salt: string) {
  let key: Buffer | undefined;
  const deriveKey = (): Buffer => (key ??= scryptSync(password, salt, 32));
  return {
    /** Opens `iv:tag:ciphertext`. `foreign`: another machine or user sealed it. `broken`: not in that format. */
    open(sealed: string) {
      const [, iv, tag, content] =
        /^([0-9a-f]{24}|[0-9a-f]{32}):([0-9a-f]{32}):((?:[0-9a-f]{2})+)$/i.exec(sealed.trim()) ?? [];
      if (iv === undefined || tag === undefined || content === undefined) return { kind: 'broken' } as const;
      const decipher = createDecipheriv(CIPHER, deriveKey(), Buffer.from(iv, 'hex'), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(Buffer.from(tag, 'hex'));
      try {
        const text = Buffer.concat([decipher.update(Buffer.from(content, 'hex')), decipher.final()]).toString('utf8');
        return { kind: 'opened', text } as const;
      } catch {
        return { kind: 'foreign' } as const;
      }
    },
    seal(text: string): string {
      const iv = randomBytes(12);
      const cipher = createCipheriv(CIPHER, deriveKey(), iv, { authTagLength: TAG_BYTES });
      const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return [iv, cipher.getAuthTag(), content].map((bytes) => bytes.toString('hex')).join(':');
    },
  };
}
