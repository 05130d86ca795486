import { extname, resolve } from 'node:path';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { readChunks } from '../../platform/files/chunks.ts';
import { readPathStatus } from '../../platform/files/read.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { systemPlatform } from '../../platform/runtime/system.ts';
import { countInputRows, readRows } from './input.ts';
import {
  type CsvFormat,
  checkIsText,
  fieldsRow,
  type InputFormat,
  type InputOptions,
  type Row,
  type RowInput,
  type Rows,
} from './row.ts';
import { sampleRows } from './sample.ts';

export interface SourceOptions {
  readonly args: readonly string[];
  readonly lines?: boolean;
  readonly inputFormat?: InputFormat;
  readonly each?: string;
  readonly encoding?: string;
}

interface SourceReading extends Pick<InputOptions, 'isPromptNeeded' | 'onHeader'> {
  readonly signal: AbortSignal;
}

export interface Source {
  readonly name: string;
  /** Reads rows on demand. To be called once: stdin has no second time. */
  open(options: SourceReading): AsyncIterable<Row>;
  /** Reads a file a second time, in the background. Absent for what cannot be read twice. */
  readonly count?: (signal: AbortSignal) => Promise<number>;
}

const FORMATS: Readonly<Record<string, InputFormat>> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.tab': 'tsv',
  '.txt': 'lines',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
};

/** Undefined if the name does not say it. */
export function findInputFormat(name: string): InputFormat | undefined {
  return FORMATS[extname(name).toLowerCase()];
}

export function createRowSource(options: SourceOptions, app: App): Source {
  const { args, each } = options;
  const [named, ...rest] = args;
  if (rest.length > 0) {
    const join = systemPlatform() === 'win32' ? 'Get-Content a.jsonl, b.jsonl' : 'cat a.jsonl b.jsonl';
    throw new AppError('usage', 'gmn batch takes one input', { hint: `Join them: ${join} | gmn batch -` });
  }
  if (each !== undefined) {
    if (named !== undefined || options.lines || options.inputFormat !== undefined || options.encoding !== undefined) {
      throw new AppError('usage', '--each is an input of its own', { hint: 'Leave the other one out.' });
    }
    return eachSource(each, app);
  }
  if (options.lines && options.inputFormat !== undefined) {
    throw new AppError('usage', '--lines and --input-format say the same', { hint: 'Use one of them.' });
  }
  const isStdin = named === undefined || named === '-';
  const { stdin } = app;
  if (named === undefined && stdin.kind() === 'none') {
    throw new AppError('usage', 'no input given', {
      hint: 'Example: gmn batch questions.jsonl --output-file answers.jsonl',
    });
  }
  const format = options.lines
    ? 'lines'
    : (options.inputFormat ?? (isStdin ? 'jsonl' : (findInputFormat(named) ?? 'jsonl')));
  if (!isStdin && !options.lines && options.inputFormat === undefined)
    checkIsText(named, `Save ${named} as CSV there; if it is text all the same: --input-format jsonl`);
  const path = isStdin ? undefined : resolve(app.cwd, named);
  const name = path ?? '-';
  const isFile = path !== undefined && readPathStatus(path)?.kind === 'file';
  const reading = { format, name: isStdin ? 'stdin' : named, encoding: options.encoding };
  return {
    name,
    count: isFile ? (signal) => countInputRows(readChunks(path, path, signal), reading) : undefined,
    open: ({ signal, ...others }) => {
      const chunks = path === undefined ? stdin.read(signal) : readChunks(path, named ?? '-', signal);
      return readRows(chunks, { ...reading, ...others });
    },
  };
}

function eachSource(pattern: string, app: App): Source {
  return {
    name: pattern,
    async *open({ signal }) {
      const { findEachFile } = await import('../../input/each-file.ts');
      let index = 0;
      for await (const file of findEachFile(pattern, { ...app, signal })) {
        yield fieldsRow({ index, lineNumber: index + 1, text: file }, { id: file, files: [file] });
        index += 1;
      }
      if (index > 0) return;
      throw new AppError('usage', `--each: no file matches ${pattern}`, {
        hint: 'Check the pattern: * stays within a directory, **/*.md also looks below. What ignore files name is left out.',
      });
    },
  };
}

/** The rows of a source, or a sample of them. `checkRow` throws for a row that cannot be asked. */
export async function openRows(
  source: Source,
  { isPromptNeeded, checkRow }: { readonly isPromptNeeded: boolean; checkRow(input: RowInput): void },
  { signal, sample }: { readonly signal: AbortSignal; readonly sample?: number },
) {
  let format: CsvFormat | undefined;
  const onHeader = (header: CsvFormat): void => {
    format = header;
  };
  const { firstRow, rows, close } = await peekRows(source.open({ isPromptNeeded, onHeader, signal }), checkRow);
  const chosen: Rows = sample === undefined ? rows : (await sampleRows(rows, sample)).sample;
  return { firstRow, rows: chosen, format, close };
}

/** Enough to tell rows that differ in shape from a column that none of them has. */
const MAX_PEEKED = 100;
const MAX_PEEKED_LENGTH = 8_000_000;

/**
 * The rows, with a hash of the first to recognize the input; it is empty if there is none. `close` closes the input, also of rows that
 * nobody has read. Throws what is wrong with the first row, or what `check` throws, unless one of the first rows can be asked.
 */
export async function peekRows(rows: AsyncIterable<Row>, check: (input: RowInput) => void) {
  const iterator = rows[Symbol.asyncIterator]();
  const peeked: Row[] = [];
  let fault: unknown;
  let isPassed = false;
  let length = 0;
  while (!isPassed && peeked.length < MAX_PEEKED && length < MAX_PEEKED_LENGTH) {
    const next = await iterator.next();
    if (next.done) break;
    peeked.push(next.value);
    const { input, line = '' } = next.value;
    length += line.length;
    try {
      if (input instanceof AppError) throw input;
      check(input);
      isPassed = true;
    } catch (thrown) {
      fault ??= thrown;
    }
  }
  if (!isPassed && fault !== undefined) {
    await iterator.return?.();
    throw fault;
  }
  async function* all(): AsyncGenerator<Row, void> {
    try {
      yield* peeked.splice(0);
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  const [first] = peeked;
  const close = async (): Promise<void> => void (await iterator.return?.());
  return { firstRow: first === undefined ? '' : hashRow(first), rows: all(), close };
}

function hashRow({ id, line = '' }: Row): string {
  return sha256(`${id}\n${line}`).slice(0, 16);
}
