import { extname, resolve } from 'node:path';
import { readRows } from '../../batch/input.ts';
import { fieldsRow, type InputFormat, type Row } from '../../batch/row.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { readChunks } from '../../platform/files/chunks.ts';
import { readPathStatus } from '../../platform/files/read.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { systemStdin } from '../../platform/terminal/stdin.ts';

export interface SourceOptions {
  readonly args: readonly string[];
  readonly lines?: boolean;
  readonly inputFormat?: InputFormat;
  readonly each?: string;
}

export interface Source {
  readonly name: string;
  /** One row per file. Such rows have no prompt. */
  readonly isEach: boolean;
  /** Reads rows on demand. Can be called again only if `isRepeatable`. */
  open(options: { readonly isPromptNeeded: boolean; readonly signal: AbortSignal }): AsyncIterable<Row>;
  readonly isRepeatable: boolean;
  readonly hasLineRows: boolean;
}

const FORMATS: Readonly<Record<string, InputFormat>> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.tab': 'tsv',
  '.txt': 'lines',
};

export function createRowSource(options: SourceOptions, app: App): Source {
  const { args, each } = options;
  const [named, ...rest] = args;
  if (rest.length > 0) {
    throw new AppError('usage', 'gmn batch takes one input', { hint: 'Join them: cat a.jsonl b.jsonl | gmn batch -' });
  }
  if (each !== undefined) {
    if (named !== undefined || options.lines || options.inputFormat !== undefined) {
      throw new AppError('usage', '--each is an input of its own', { hint: 'Leave the other one out.' });
    }
    return eachSource(each, app);
  }
  if (options.lines && options.inputFormat !== undefined) {
    throw new AppError('usage', '--lines and --input-format say the same', { hint: 'Use one of them.' });
  }
  const isStdin = named === undefined || named === '-';
  const stdin = systemStdin();
  if (named === undefined && stdin.kind() === 'none') {
    throw new AppError('usage', 'no input given', {
      hint: 'Example: gmn batch questions.jsonl --output-file answers.jsonl',
    });
  }
  const format = options.lines
    ? 'lines'
    : (options.inputFormat ?? (isStdin ? 'jsonl' : (FORMATS[extname(named).toLowerCase()] ?? 'jsonl')));
  const path = isStdin ? undefined : resolve(app.cwd, named);
  const name = path ?? '-';
  const isFile = path !== undefined && readPathStatus(path)?.kind === 'file';
  return {
    name,
    isEach: false,
    isRepeatable: isFile,
    hasLineRows: isFile && (format === 'lines' || format === 'jsonl'),
    open: ({ isPromptNeeded, signal }) => {
      const chunks = path === undefined ? stdin.read(signal) : readChunks(path, named ?? '-', signal);
      return readRows(chunks, { format, name: isStdin ? 'stdin' : named, isPromptNeeded });
    },
  };
}

function eachSource(pattern: string, app: App): Source {
  return {
    name: pattern,
    isEach: true,
    isRepeatable: true,
    hasLineRows: false,
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

/** The rows, with a hash of the first to recognize the input; it is empty if there is none. */
export async function peekRows(rows: AsyncIterable<Row>) {
  const iterator = rows[Symbol.asyncIterator]();
  const first = await iterator.next();
  const { value } = first;
  async function* all(): AsyncGenerator<Row, void> {
    try {
      if (!first.done) yield first.value;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { firstRow: first.done || value === undefined ? '' : hashRow(value), rows: all() };
}

function hashRow({ id, line = '' }: Row): string {
  return sha256(`${id}\n${line}`).slice(0, 16);
}
