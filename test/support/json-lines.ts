import type { TestContext } from 'vitest';
import { type GmnOptions, type GmnResult, gmnCommand, place, startProgram } from './gmn.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like
export type ProcessEvent = any;

export interface StartedProcess {
  readonly pid: number;
  readonly events: readonly ProcessEvent[];
  /** An object becomes a line; a text is sent as it is. */
  send(...lines: readonly (object | string)[]): void;
  /** The first event that matches, from the beginning on. Rejects if the process ends without it. */
  until(matches: (event: ProcessEvent) => boolean): Promise<ProcessEvent>;
  endInput(): void;
  kill(signal: NodeJS.Signals): void;
  /** Stops reading until the returned function is called. */
  pause(): () => void;
  readonly ended: Promise<GmnResult>;
}

/** Starts `gmn --input-format stream-json -o stream-json` where it is told to, or in a place of its own. */
export function startProcess(
  t: TestContext,
  flags: readonly string[],
  {
    at,
    onEvent,
    ...options
  }: GmnOptions & {
    readonly at?: ReturnType<typeof place>;
    readonly onEvent?: (event: ProcessEvent, process: StartedProcess) => void;
  },
): StartedProcess {
  const events: ProcessEvent[] = [];
  const waiting = new Set<() => void>();
  const decoder = new TextDecoder();
  let rest = '';
  const args = ['--input-format', 'stream-json', '-o', 'stream-json', ...flags];
  const { child, ended } = startProgram(t, gmnCommand(args), at ?? place(t, options), { stdin: 'open' });
  child.stdout?.on('data', (bytes: Buffer) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = JSON.parse(line);
      events.push(event);
      onEvent?.(event, started);
    }
    for (const look of waiting) look();
  });
  const started: StartedProcess = {
    pid: child.pid ?? 0,
    events,
    send: (...lines) =>
      void child.stdin?.write(
        lines.map((line) => (typeof line === 'string' ? line : `${JSON.stringify(line)}\n`)).join(''),
      ),
    until: (matches) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = events.find(matches);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
        void ended.then(({ stderr }) =>
          reject(new Error(`it never came; ${JSON.stringify(events.slice(-3))} ${stderr}`)),
        );
      }),
    endInput: () => void child.stdin?.end(),
    kill: (signal) => void child.kill(signal),
    pause() {
      child.stdout?.pause();
      return () => void child.stdout?.resume();
    },
    ended,
  };
  return started;
}
