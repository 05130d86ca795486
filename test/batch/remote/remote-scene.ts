import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createIdentity } from '../../../src/api/backend.ts';
import { createBatchesClient, formatBatchLine } from '../../../src/api/batches.ts';
import { createFilesClient } from '../../../src/api/files.ts';
import type { RedactLines } from '../../../src/batch/output/failed-file.ts';
import { type Journal, openJournal } from '../../../src/batch/output/journal.ts';
import { resolveRunPaths } from '../../../src/batch/output/run-file.ts';
import type { RemoteOptions } from '../../../src/batch/remote/options.ts';
import { openPlan, type PlanStore } from '../../../src/batch/remote/plan-store.ts';
import { createRemoteEngine } from '../../../src/batch/remote/remote-engine.ts';
import type { BatchService, RowCodec } from '../../../src/batch/remote/service.ts';
import { settleRemote } from '../../../src/batch/remote/settle.ts';
import { textRow } from '../../../src/batch/rows/row.ts';
import type { PendingRow } from '../../../src/batch/rows/row-engine.ts';
import { AppError } from '../../../src/core/error.ts';
import type { Clock } from '../../../src/core/io.ts';
import { parseFaults } from '../../../src/demo/fault.ts';
import { startDemo } from '../../../src/demo/server.ts';
import { createHttpClient } from '../../../src/platform/http/send.ts';
import { systemClock } from '../../../src/platform/runtime/clock.ts';

export const MODEL = 'gemini-3.8-flash';

/** Waiting costs nothing, but takes a turn of the event loop. */
export function virtualClock(): Clock {
  let now = Date.UTC(2026, 10, 15, 9);
  return {
    now: () => now,
    async sleep(ms, signal) {
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      now += ms;
    },
  };
}

export interface Line {
  readonly id: string;
  readonly ok: boolean;
  readonly response?: string;
  readonly attempts?: number;
  readonly error?: { readonly message: string };
}

type Step = <Result>(work: () => Promise<Result>) => Promise<Result>;

export const redact: RedactLines = async (lines) => lines;

const plainStep: Step = (work) => work();

/** A demo server, an output, and runs of the engine on it. */
export async function openScene(faults = '') {
  const directory = mkdtempSync(join(tmpdir(), 'gmn-remote-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const tokens = mkdtempSync(join(tmpdir(), 'gmn-tokens-'));
  onTestFinished(() => rmSync(tokens, { recursive: true, force: true }));
  const output = join(directory, 'out.jsonl');
  const clock = virtualClock();
  const requests: string[] = [];
  const server = await startDemo({
    clock,
    faults: faults === '' ? [] : parseFaults([faults]),
    onRequest: ({ method, path }) => void requests.push(`${method} ${path}`),
  });
  onTestFinished(() => server.close());
  const service = createService(server.url, clock);
  const notices: string[] = [];

  async function withJournal<Result>(
    work: (journal: Journal, options: RemoteOptions) => Promise<Result>,
    given: Partial<RemoteOptions> & { readonly step?: Step } = {},
  ): Promise<Result> {
    const { signal } = new AbortController();
    const settings = { model: MODEL };
    const input = { name: 'in', firstRow: 'x' };
    const paths = resolveRunPaths(output, directory);
    const journal = await openJournal({
      paths,
      settings,
      input,
      restarts: false,
      redact,
      notify: () => {},
      clock: systemClock,
      signal,
    });
    let store: PlanStore | undefined;
    try {
      const { step = plainStep, ...more } = given;
      store = await openPlan({ path: paths.plan, tokens }, { runId: journal.runId, settings: {} });
      return await work(journal, {
        store: stepStore(store, step),
        service: stepService(service, step),
        codec,
        redact,
        limits: { rows: 3, bytes: 1_000_000, jobs: 50, attempts: 3 },
        timing: { pollMs: 10_000, maxPollMs: 300_000, lagMs: 35_000 },
        clock,
        mode: 'run',
        notify: (message) => void notices.push(message),
        ...more,
      });
    } finally {
      await store?.close();
      await journal.close();
    }
  }

  return {
    clock,
    output,
    requests,
    notices,
    service,
    close: server.close,
    run(prompts: readonly string[], given: Partial<RemoteOptions> & { readonly step?: Step } = {}): Promise<void> {
      const { step = plainStep } = given;
      return withJournal(
        (journal, options) =>
          createRemoteEngine(options).run({
            rows: pendingRows(prompts, journal),
            finish: (row) => step(() => journal.write(row)),
            sync: () => journal.sync(),
            signal: new AbortController().signal,
          }),
        given,
      );
    },
    settle: () =>
      withJournal((journal, options) =>
        settleRemote(options, {
          finish: (row) => journal.write(row),
          sync: () => journal.sync(),
          signal: new AbortController().signal,
        }),
      ),
    readLines: (): readonly Line[] => {
      const text = readFileSync(output, 'utf8').trimEnd();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line));
    },
    countCreations: () => requests.filter((request) => request.endsWith(':batchGenerateContent')).length,
  };
}

async function* pendingRows(prompts: readonly string[], journal: Journal): AsyncGenerator<PendingRow, void> {
  for (const [index, prompt] of prompts.entries()) {
    const row = textRow({ index, lineNumber: index + 1, text: prompt }, prompt);
    if (journal.claim(row.id) === 'pending') yield row as PendingRow;
  }
}

export const codec: RowCodec = {
  async prepare({ input }) {
    const { prompt: text = '', model = MODEL } = input;
    const request = { model, contents: [{ role: 'user', parts: [{ text }] }], generationConfig: {} } as const;
    return { model, line: (key) => formatBatchLine(key, request), cost: 1 };
  },
  toResult({ reply }, { ms, attempts }) {
    if (reply instanceof AppError) return reply;
    const { text, model, usage } = reply;
    return { response: text, model, usage, ms, attempts };
  },
};

function createService(url: string, clock: Clock): BatchService {
  const trace = (): void => {};
  const timers = { connectMs: 5000, headersMs: 5000, idleMs: 5000 };
  const { send } = createHttpClient({ timers, env: {}, trace, clock: systemClock });
  const who = {
    type: 'gemini-api-key',
    source: 'test',
    account: 'a',
    headers: async () => ({ 'x-goog-api-key': 'k' }),
  };
  const context = {
    place: { baseUrl: new URL(url), userAgent: 'gmn/test' },
    identity: createIdentity(who as Parameters<typeof createIdentity>[0], 'key'),
    ...{ userAgent: 'gmn/test', send, clock, random: () => 0.5, trace, retryBaseMs: 1000 },
  };
  const files = createFilesClient(context);
  const jobs = createBatchesClient(context);
  return {
    jobs,
    async upload(path, name, signal) {
      const bytes = readFileSync(path);
      const source = {
        name,
        bytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        async read(offset: number, into: Uint8Array) {
          const piece = bytes.subarray(offset, offset + into.length);
          into.set(piece);
          return into.subarray(0, piece.length);
        },
      };
      return (await files.upload(source, { mimeType: 'application/jsonl', displayName: name, signal })).name;
    },
    getFile: files.get,
    async deleteFile(name, signal) {
      await files.delete(name, signal);
    },
    async *readResults(results, model, signal) {
      const pieces: Uint8Array[] = [];
      if ('inlined' in results) throw new Error('gmn creates no such batches');
      for await (const piece of files.download(results.fileName, signal)) pieces.push(piece);
      for (const line of Buffer.concat(pieces).toString('utf8').split('\n')) {
        const result = await jobs.parseResult(line, model);
        if (result !== undefined) yield result;
      }
    },
  };
}

function stepService(service: BatchService, step: Step): BatchService {
  const { jobs } = service;
  return {
    jobs: {
      ...jobs,
      create: (batch, signal) => step(() => jobs.create(batch, signal)),
      get: (name, signal) => step(() => jobs.get(name, signal)),
      cancel: (name, signal) => step(() => jobs.cancel(name, signal)),
      delete: (name, signal) => step(() => jobs.delete(name, signal)),
    },
    upload: (path, name, signal) => step(() => service.upload(path, name, signal)),
    getFile: (name, signal) => step(() => service.getFile(name, signal)),
    deleteFile: (name, signal) => step(() => service.deleteFile(name, signal)),
    readResults: service.readResults,
  };
}

function stepStore(store: PlanStore, step: Step): PlanStore {
  return {
    ...store,
    get plan() {
      return store.plan;
    },
    update: (change) => step(() => store.update(change)),
    drop: (number) => step(() => store.drop(number)),
    prune: () => step(() => store.prune()),
  };
}
