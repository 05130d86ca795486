import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Content } from '../../src/core/content.ts';
import { type Notify, type TurnEvent, toNoticeEvent } from '../../src/core/event.ts';
import type { Clock, Stdin, StdinKind } from '../../src/core/io.ts';
import { buildPromptContent } from '../../src/input/prompt.ts';
import type { PromptInput } from '../../src/input/prompt-input.ts';

/** A stdin of that kind which gives these chunks, then ends. Records whether it was let go. */
export function fakeStdin(kind: StdinKind, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array> = []) {
  const state = { opened: 0, closed: 0 };
  const stdin: Stdin = {
    kind: () => kind,
    isTerminal: async () => false,
    read: (signal) => {
      state.opened += 1;
      const gone = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
      gone.catch(() => {});
      const source = (async function* () {
        yield* chunks;
      })();
      let isClosed = false;
      const close = (): void => {
        if (!isClosed) state.closed += 1;
        isClosed = true;
      };
      return {
        [Symbol.asyncIterator]() {
          return this;
        },
        next: async () => {
          try {
            const step = await Promise.race([source.next(), gone]);
            if (step.done === true) close();
            return step;
          } catch (thrown) {
            close();
            throw thrown;
          }
        },
        return: async () => {
          close();
          return { done: true, value: undefined };
        },
      };
    },
  };
  return { stdin, state };
}

/** Chunks that never come. */
export async function* silence(): AsyncGenerator<Uint8Array, void> {
  await new Promise(() => {});
}

/** A clock on which the first `passing` sleeps pass at once and the others never do. */
export function fakeClock(passing: number): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  return {
    slept,
    now: () => 0,
    sleep: (ms, signal) => {
      slept.push(ms);
      if (slept.length <= passing) return Promise.resolve();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  };
}

/** All events of a generator, and what it returned. */
/** What `work` returns, and what it said. */
export async function listen<T>(work: (notify: Notify) => Promise<T>): Promise<{ events: TurnEvent[]; value: T }> {
  const events: TurnEvent[] = [];
  const value = await work((notice) => void events.push(toNoticeEvent(notice)));
  return { events, value };
}

/** The Content of a prompt; stdin is none unless given. */
export async function contentOf(
  input: Partial<PromptInput> & { readonly cwd: string },
): Promise<{ notices: string[]; content: Content }> {
  const { events, value } = await listen((notify) =>
    buildPromptContent({
      notify,
      prompt: undefined,
      files: [],
      stdinMode: 'auto',
      allowsMentions: true,
      env: {},
      stdin: fakeStdin('none').stdin,
      clock: fakeClock(0),
      signal: new AbortController().signal,
      ...input,
    }),
  );
  return { notices: events.flatMap((event) => (event.type === 'notice' ? [event.message] : [])), content: value };
}

/** Bundles `test/input/fixture.ts`, for tests that need a process of their own. */
export async function buildFixture(): Promise<{ path: string; remove: () => void }> {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-fixture-'));
  const path = join(directory, 'fixture.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('fixture.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: path,
    logLevel: 'error',
  });
  return { path, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

export interface FixtureResult {
  readonly exitCode: number | null;
  readonly stderr: string;
  /** What it printed, as JSON. */
  readonly output: unknown;
}

/** Starts the fixture in a shell, so that any redirection can be written down. */
export function startFixture(path: string, redirection: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn('sh', ['-c', redirection.replace('FIXTURE', `'${process.execPath}' '${path}'`)], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return { child, result: resultOf(child) };
}

/** The end of a fixture. */
export async function resultOf(child: ChildProcess): Promise<FixtureResult> {
  const texts = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    texts.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    texts.stderr += text;
  });
  const exitCode = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { exitCode, stderr: texts.stderr, output: texts.stdout === '' ? undefined : JSON.parse(texts.stdout) };
}
