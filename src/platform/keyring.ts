import { spawn } from 'node:child_process';
import { isObject } from '../core/json.ts';

/**
 * Runs in a process of its own: a keyring that waits for its daemon, or for a person, cannot be interrupted from inside.
 * Secrets travel through the pipes, never through arguments. `linux.store`: the kernel's keyring forgets at logout.
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

/** Names one secret in the keyring. */
export interface KeyringEntry {
  readonly service: string;
  readonly account: string;
}

export type KeyringAnswer =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'nothing' }
  /** There is no keyring here, it refused, or it did not answer in time. */
  | { readonly kind: 'unavailable'; readonly why: 'failed' | 'timeout' };

/** The keyring of the operating system, through the optional library. No method throws. */
export interface Keyring {
  get(entry: KeyringEntry, limitMs: number): Promise<KeyringAnswer>;
  set(entry: KeyringEntry, secret: string, limitMs: number): Promise<KeyringAnswer>;
  delete(entry: KeyringEntry, limitMs: number): Promise<KeyringAnswer>;
}

/** A keyring reached through the library file `module`. */
export function openKeyring(module: string): Keyring {
  return {
    get: (entry, limitMs) => ask({ module, action: 'get', ...entry }, limitMs),
    set: (entry, secret, limitMs) => ask({ module, action: 'set', ...entry, secret }, limitMs),
    delete: (entry, limitMs) => ask({ module, action: 'delete', ...entry }, limitMs),
  };
}

function ask(request: Readonly<Record<string, string>>, limitMs: number): Promise<KeyringAnswer> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['-e', HELPER], {
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
      windowsHide: true,
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    child.on('error', () => resolve({ kind: 'unavailable', why: 'failed' }));
    child.on('close', (code, signal) => {
      if (code === 0) resolve(parseAnswer(output));
      else resolve({ kind: 'unavailable', why: signal === 'SIGKILL' ? 'timeout' : 'failed' });
    });
    // It may have died before reading.
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(request));
  });
}

function parseAnswer(output: string): KeyringAnswer {
  try {
    const answer: unknown = JSON.parse(output);
    if (isObject(answer) && typeof answer.value === 'string') return { kind: 'secret', secret: answer.value };
    return { kind: 'nothing' };
  } catch {
    return { kind: 'unavailable', why: 'failed' };
  }
}
