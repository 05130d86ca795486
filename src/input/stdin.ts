import { AppError } from '../core/error.ts';
import type { NoticeEvent, Notify } from '../core/event.ts';
import type { Stdin } from '../core/io.ts';
import { type Clock, type Env, settlesWithin } from '../core/io.ts';
import { formatDuration, parseEnvDuration } from '../core/text/format.ts';
import { INLINE_LIMIT, INLINE_LIMIT_NAME } from './attachment.ts';

/** `auto`: if there is any; `always`: `--stdin`; `never`: `--no-stdin`. */
export type StdinMode = 'auto' | 'always' | 'never';

export interface StdinRequest {
  readonly stdin: Stdin;
  readonly mode: StdinMode;
  /** With a prompt, waiting ends after a while; without one, stdin is the prompt and is read to its end. */
  readonly hasPrompt: boolean;
  /** `GMN_STDIN_WAIT` sets how long to wait for the first byte. */
  readonly env: Env;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Opens a file for an input that is too long for a request; absent: that is an error. */
  readonly spool?: () => Promise<StdinSpool>;
  readonly hint?: string;
  readonly notify: Notify;
}

/** Keeps an input that is too long for the memory. Every method throws AppError `usage`. */
export interface StdinSpool {
  append(chunk: Uint8Array): Promise<void>;
  finish(): Promise<string>;
}

export type StdinInput = Uint8Array | { readonly path: string };

const NOTICE_AFTER_MS = 1000;
const DEFAULT_WAIT_MS = { pipe: 10_000, socket: 2000 } as const;

/**
 * All bytes of stdin; undefined if there is none to read. Throws
 * AppError `usage` as soon as there is more than can be sent, `config` if `GMN_STDIN_WAIT` is not a duration, and the
 * signal's reason. Closes everything, however it ends.
 */
export async function readStdin(request: StdinRequest): Promise<StdinInput | undefined> {
  const { stdin, mode, hasPrompt, signal, notify } = request;
  const kind = stdin.kind();
  if (mode === 'never' || (kind === 'none' && mode === 'auto')) return undefined;
  const waitMs =
    mode === 'auto' && hasPrompt && (kind === 'pipe' || kind === 'socket')
      ? parseEnvDuration(request.env, 'GMN_STDIN_WAIT', DEFAULT_WAIT_MS[kind])
      : undefined;
  if (kind === 'none' && (await stdin.isTerminal())) {
    notify('reading stdin from the terminal; end it with Ctrl-D');
  }
  const reading = startStdinReading(stdin, signal);
  try {
    if (kind !== 'file') notify(WAITING);
    if (waitMs !== undefined && !(await awaitFirst(reading.first, waitMs, request))) return undefined;
    return await reading.readAll(request);
  } finally {
    await reading.close();
  }
}

const WAITING: NoticeEvent = { type: 'wait', what: 'stdin' };

async function awaitFirst(first: Promise<unknown>, waitMs: number, { clock, notify }: StdinRequest): Promise<boolean> {
  const quietMs = Math.min(waitMs, NOTICE_AFTER_MS);
  if (await settlesWithin(first, quietMs, clock)) return true;
  if (waitMs > quietMs) {
    notify('waiting for stdin… (--no-stdin to skip)');
    notify(WAITING);
    if (await settlesWithin(first, waitMs - quietMs, clock)) return true;
  }
  // If the process was suspended, the timer fires first although data may be waiting.
  if (await settlesWithin(first, 0, clock)) return true;
  const waited = waitMs === 0 ? 'stdin had nothing to read' : `no stdin within ${formatDuration(waitMs)}`;
  notify(`${waited}: continuing without it (--stdin waits for its end)`);
  return false;
}

function startStdinReading(stdin: Stdin, parent: AbortSignal) {
  const controller = new AbortController();
  const abortWithParent = (): void => controller.abort(parent.reason);
  if (parent.aborted) abortWithParent();
  parent.addEventListener('abort', abortWithParent, { once: true });
  const bytes = stdin.read(controller.signal);
  const first = bytes.next();
  first.catch(() => {});
  return {
    /** The first chunk; may reject without being awaited. */
    first,
    async readAll({ spool: openSpool, hint }: StdinRequest): Promise<StdinInput> {
      const chunks: Uint8Array[] = [];
      let spool: StdinSpool | undefined;
      let length = 0;
      for (let step = await first; step.done !== true; step = await bytes.next()) {
        length += step.value.length;
        chunks.push(step.value);
        if (length <= INLINE_LIMIT) continue;
        if (openSpool === undefined) {
          throw new AppError('usage', `stdin is longer than ${INLINE_LIMIT_NAME}, the most that can be sent`, {
            hint: hint || 'Send a part of it, for example: head -c 1M … | gmn "…"',
          });
        }
        spool ??= await openSpool();
        for (const chunk of chunks.splice(0)) await spool.append(chunk);
      }
      return spool === undefined ? Buffer.concat(chunks, length) : { path: await spool.finish() };
    },
    async close(): Promise<void> {
      parent.removeEventListener('abort', abortWithParent);
      controller.abort();
      await first.catch(() => {});
      await bytes.return?.();
    },
  };
}
