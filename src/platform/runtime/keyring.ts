import { spawn } from 'node:child_process';
import { isObject } from '../../core/json.ts';
import { programEnvironment } from '../process/child.ts';
import { startTimer } from './clock.ts';

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

/** Where the session's keyring is, and where it can ask the person. */
const SESSION = ['DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY'];

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

async function ask(request: Readonly<Record<string, string>>, limitMs: number): Promise<KeyringAnswer> {
  const input = JSON.stringify(request);
  const { code, output } = await runHelper({ program: process.execPath, args: ['-e', HELPER], input, limitMs });
  if (code === 0) return parseAnswer(output);
  return { kind: 'unavailable', why: code === 'timeout' ? 'timeout' : 'failed' };
}

/** A program that reads or writes secrets for us. */
export interface HelperRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly input: string;
  readonly limitMs: number;
}

/**
 * What a helper prints, and its exit code, if it has one. It gets no key of ours, and nothing that makes its runtime load more
 * (`NODE_OPTIONS`). Never throws.
 */
export function runHelper({ program, args, input, limitMs }: HelperRun) {
  return new Promise<{ readonly code: number | 'timeout' | 'failed'; readonly output: string }>((resolve) => {
    const session: Record<string, string> = {};
    for (const name of SESSION) if (process.env[name] !== undefined) session[name] = process.env[name];
    const child = spawn(program, args, {
      env: programEnvironment(process.env, session),
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

function parseAnswer(output: string): KeyringAnswer {
  try {
    const answer: unknown = JSON.parse(output);
    if (isObject(answer) && typeof answer.value === 'string') return { kind: 'secret', secret: answer.value };
    return { kind: 'nothing' };
  } catch {
    return { kind: 'unavailable', why: 'failed' };
  }
}
