import { createNoticeCollector } from '../../app/notice-collector.ts';
import type { PrintOptions } from '../../app/report.ts';
import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { addUsage, type BilledCall, NO_USAGE, type Usage } from '../../core/usage.ts';
import type { Budget } from '../../engine/limits/budget.ts';
import { batchTexts, type EmbedderOptions, openEmbedder } from '../../engine/model/embedder.ts';
import { findNamedFile, resolveNamedFile } from '../../input/named-file.ts';
import { splitLines } from '../../mcp/wire/lines.ts';
import { readChunks } from '../../platform/files/chunks.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { encodeDocument, encodeLine } from '../../render/json-text.ts';
import { createStderr } from '../../render/stderr.ts';
import { formatUsage } from '../../render/text.ts';
import { appendUsage } from '../../session/usage-log.ts';

interface EmbedOptions extends PrintOptions, EmbedderOptions {
  /** Files; stdin if there are none, and for `-`. */
  readonly args: readonly string[];
  readonly whole?: boolean;
  readonly noText?: boolean;
  readonly column?: string;
  readonly encoding?: string;
  readonly similar?: string;
  readonly top?: number;
  readonly outputFormat?: 'text' | 'json';
  readonly maxCost?: number;
  readonly usage?: boolean;
}

/** Requests in flight. With their answers they are all that is in memory. */
const CONCURRENCY = 4;

/**
 * Writes one JSON line with the vector of each line of the input, or of each file, in their order. Memory does not grow
 * with the input. Throws AppError: `usage` for wrong flags and files, `auth` if the backend has no embeddings, `api`.
 */
export async function run(options: EmbedOptions, app: App): Promise<number> {
  checkEmbedFlags(options);
  await checkFiles(options.args, app);
  const budget = await openEmbedBudget(options, app);
  const { notify } = createNoticeCollector({ quiet: options.quiet }, app);
  const embedder = await openEmbedder(options, app, { budget, notify });
  const stop = new AbortController();
  const signal = AbortSignal.any([app.signal, stop.signal]);
  try {
    const report = options.quiet ? undefined : createStderr(app.io.err);
    for (const notice of app.notices ?? []) await report?.notice(notice);
    const startedMs = app.clock.now();
    let usage: Usage = NO_USAGE;
    const embed = async (texts: readonly string[]) => {
      const found = await embedder.embed(texts, signal);
      usage = addUsage(usage, found.usage);
      return found.vectors;
    };
    const toLines = async (batch: readonly InputText[]): Promise<readonly JsonObject[]> => {
      const vectors = await embed(batch.map(({ text }) => text));
      return batch.map(({ text, ...where }, index) => ({
        ...where,
        text: options.noText ? undefined : text,
        values: vectors[index] ?? [],
      }));
    };
    try {
      if (options.similar !== undefined) {
        const [query = []] = await embed([options.similar]);
        await printNearest(query, { options, model: embedder.model, signal }, app);
      } else {
        const isEmpty = await writeInOrder(batchTexts(readTexts(options, app, signal)), toLines, app.io.out.write);
        if (isEmpty) await report?.notice('there was nothing to embed: the input has no text');
      }
    } finally {
      // A run that fails has paid for the vectors before.
      const call = { model: embedder.model, usage, at: app.clock.now(), backend: embedder.billedTo };
      saveUsage(call, app);
      if (options.usage) {
        const cost = await sumCost(call, app);
        await report?.usage(`${embedder.model} · ${formatUsage(usage, call.at - startedMs, cost)}`);
      }
    }
    return 0;
  } finally {
    stop.abort();
    await embedder.close();
  }
}

function checkEmbedFlags({ similar, top, outputFormat, column, encoding }: EmbedOptions): void {
  const fail = (message: string, hint: string): never => {
    throw new AppError('usage', message, { hint });
  };
  if (similar?.trim() === '')
    fail('--similar: the text is empty', 'Example: gmn embed --similar "it broke" vectors.jsonl');
  if (top !== undefined && top < 1) fail(`--top: ${top} is out of range`, 'Example: --top 3');
  const alone = [...(top === undefined ? [] : ['--top']), ...(outputFormat === undefined ? [] : ['--output-format'])];
  if (similar === undefined && alone.length > 0)
    fail(`${alone.join(', ')} has no effect here`, 'Add --similar, or leave it out.');
  if (column === undefined && encoding !== undefined)
    fail('--encoding has no effect here', 'Add --column, or leave it out.');
}

interface Search {
  readonly options: EmbedOptions;
  readonly model: string;
  readonly signal: AbortSignal;
}

async function printNearest(query: readonly number[], { options, model, signal }: Search, app: App): Promise<void> {
  const { findSimilar, formatMatch } = await import('./similar.ts');
  const matches = await findSimilar(openInputs(options, app, signal), query, options.top ?? 10);
  const json = { model, matches: matches.map(({ score, fields }) => ({ score, ...fields })) };
  await app.io.out.write(options.outputFormat === 'json' ? encodeDocument(json) : matches.map(formatMatch).join(''));
}

async function openEmbedBudget({ maxCost }: EmbedOptions, app: App): Promise<Budget | undefined> {
  if (maxCost === undefined) return undefined;
  return (await import('../../engine/limits/budget.ts')).openBudget(
    { maxCost, hint: 'Raise --max-cost, or embed less.' },
    app,
  );
}

function saveUsage(call: BilledCall, { homes, cwd, clock, replayed }: App): void {
  if (call.usage.promptTokenCount === undefined || call.backend === 'demo' || replayed) return;
  appendUsage(homes().gmn, { at: clock.now(), kind: 'embed', id: randomId(), cwd, calls: [call] });
}

async function sumCost(call: BilledCall, app: App): Promise<number | undefined> {
  const { sumCosts } = await import('../../models/prices.ts');
  return sumCosts([call], readSetting((await app.settings()).document ?? {}, 'prices'));
}

/** Keeps the order, with up to `CONCURRENCY` requests in flight. True if there was nothing to write. */
async function writeInOrder(
  batches: AsyncIterable<readonly InputText[]>,
  embed: (batch: readonly InputText[]) => Promise<readonly JsonObject[]>,
  write: (text: string) => Promise<void>,
): Promise<boolean> {
  const inFlight: Promise<readonly JsonObject[]>[] = [];
  let written = 0;
  const writeNext = async (): Promise<void> => {
    for (const vector of (await inFlight.shift()) ?? []) {
      await write(encodeLine(vector));
      written += 1;
    }
  };
  try {
    for await (const batch of batches) {
      const embedding = embed(batch);
      // It is awaited in its turn; until then a failure must not end the process.
      embedding.catch(() => {});
      inFlight.push(embedding);
      if (inFlight.length >= CONCURRENCY) await writeNext();
    }
    while (inFlight.length > 0) await writeNext();
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (written === 0 || error.fault === 'pipe') throw error;
    throw error.with({
      hint: `${error.hint ?? ''} ${written} vectors are written; only the rest is missing.`.trimStart(),
    });
  }
  return written === 0;
}

interface InputText {
  /** Present if files are named. */
  readonly file?: string;
  /** From 1. Absent with `--whole` and `--column`. */
  readonly line?: number;
  /** With `--column`: its number, and its own id if it has one. */
  readonly row?: number;
  readonly id?: string | undefined;
  readonly text: string;
}

async function* openInputs({ args }: EmbedOptions, app: App, signal: AbortSignal) {
  for (const name of args.length === 0 ? ['-'] : args) {
    const chunks = name === '-' ? app.stdin.read(signal) : readChunks(await resolveNamedFile(name, app), name);
    yield { name: describeInput(name), chunks, where: args.length === 0 ? {} : { file: name } };
  }
}

async function* readTexts(options: EmbedOptions, app: App, signal: AbortSignal): AsyncGenerator<InputText, void> {
  const { whole, column, encoding } = options;
  for await (const { name, chunks: bytes, where } of openInputs(options, app, signal)) {
    if (column !== undefined) {
      const { readColumn } = await import('./rows.ts');
      for await (const row of readColumn(bytes, { column, name, encoding })) yield { ...where, ...row };
      continue;
    }
    const chunks = checkText(bytes, name);
    if (whole) {
      const text = await readWhole(chunks, name);
      if (text.trim() !== '') yield { ...where, text };
    } else yield* readInputLines(chunks, name, where);
  }
}

/** Throws AppError `usage` for what is not UTF-8: its vectors would mean nothing. */
async function* checkText(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const check = (chunk?: Uint8Array): void => {
    try {
      decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw notUtf8Error(name);
    }
  };
  for await (const chunk of chunks) {
    if (chunk.includes(0)) throw notUtf8Error(name);
    check(chunk);
    yield chunk;
  }
  check();
}

/** A longer text could not be embedded by any model. */
const MAX_BYTES = 1_000_000;

/** The API refuses an empty text, so empty lines have no vector; they are counted all the same. */
async function* readInputLines(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  where: Pick<InputText, 'file'>,
): AsyncGenerator<InputText, void> {
  let line = 0;
  for await (const found of splitLines(chunks, { maxBytes: MAX_BYTES, tooLong: 'stop' })) {
    line += 1;
    if ('isTooLong' in found) throw tooLongTextError(`line ${line} of ${name}`);
    const text = (line === 1 ? found.text.replace(/^\uFEFF/, '') : found.text).replace(/\r$/, '');
    if (text.trim() !== '') yield { ...where, line, text };
  }
}

async function readWhole(chunks: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_BYTES) throw tooLongTextError(name);
    parts.push(chunk);
  }
  return Buffer.concat(parts, size).toString('utf8');
}

function describeInput(name: string): string {
  return name === '-' ? 'stdin' : name;
}

function notUtf8Error(name: string): AppError {
  return new AppError('usage', `${name} is not text in UTF-8`, {
    hint: 'Convert it first, for example: iconv -f UTF-16 -t UTF-8 <file> | gmn embed',
  });
}

function tooLongTextError(what: string): AppError {
  return new AppError('usage', `${what} is longer than 1 MB`, { hint: 'Split it into smaller texts, one per line.' });
}

/** Called before anything is sent. A word that is no file most likely belongs to a prompt. */
async function checkFiles(names: readonly string[], app: App): Promise<void> {
  if (names.length === 0 && app.stdin.kind() === 'none' && (await app.stdin.isTerminal())) {
    throw new AppError('usage', 'there is nothing to embed', {
      hint: 'Name files, or pipe lines in: gmn embed < lines.txt > vectors.jsonl',
    });
  }
  for (const name of names.filter((word) => word !== '-')) {
    const found = await findNamedFile(name, app);
    if (found !== undefined && found.kind !== 'directory') continue;
    const what = found === undefined ? `there is no file "${name}"` : `${name} is a directory`;
    throw new AppError('usage', `${what}: gmn embed takes files`, {
      hint: 'It reads their lines, or those of stdin. To ask the model instead: gmn -- embed …',
    });
  }
}
