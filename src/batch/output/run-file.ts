import { AppError } from '../../core/error.ts';
import {
  canonicalJson,
  isObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  toJsonObject,
  tryParseJson,
} from '../../core/json.ts';
import { findFileKind, isDirectory } from '../../platform/files/path.ts';
import { readFileState } from '../../platform/files/read.ts';
import { writeAtomic } from '../../platform/files/write.ts';
import { resolveWritingTarget } from '../../platform/files/writing-target.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import { type CsvFormat, DELIMITERS } from '../rows/row.ts';

const FORMAT = 'gmn-batch';
const VERSION = 1;

/** With these endings the output is a table, made from a JSONL file beside it, which is the record of what is done. */
const TABLE = /\.(?:csv|tsv|tab)$/i;

function toRunPaths(named: string) {
  const isTable = TABLE.test(named);
  return {
    /** What the user calls the output. */
    named,
    /** One line of JSON per row. */
    output: isTable ? `${named}.jsonl` : named,
    table: isTable ? named : undefined,
    /** Only while the table is written. */
    tablePart: isTable ? `${named}.part` : undefined,
    run: `${named}.run.json`,
    failed: `${named}.failed.jsonl`,
    lock: `${named}.lock`,
    /** The last output that `--restart` replaced, and its failed rows. */
    old: isTable ? `${named}.old.jsonl` : `${named}.old`,
    oldTable: isTable ? `${named}.old` : undefined,
    oldFailed: `${named}.old.failed.jsonl`,
    /** A directory: which rows are in flight at the service. */
    plan: `${named}.batch`,
  };
}

export type RunPaths = ReturnType<typeof toRunPaths>;

/**
 * The files of the run whose output the user calls `name`. Whoever made the folder could point one of them at any of the user's
 * files, so this throws AppError `usage` for an output as `resolveWritingTarget` does, and for each of the others that is a link.
 */
export function resolveRunPaths(name: string, cwd: string): RunPaths {
  const named = resolveWritingTarget(name, cwd);
  if (isDirectory(named)) {
    throw new AppError('usage', `${name} is a directory`, { hint: 'Name a file: --output-file out.jsonl' });
  }
  const paths = toRunPaths(named);
  for (const path of Object.values(paths)) {
    const kind = path === undefined ? undefined : findFileKind(path);
    if (kind === undefined || kind === (path === paths.plan ? 'directory' : 'file')) continue;
    if (kind === 'link') {
      throw new AppError('usage', `${path} is a link, and gmn makes none beside an output`, {
        hint: 'Remove the link, or use another --output-file.',
      });
    }
    throw new AppError('usage', `${path} is not a ${path === paths.plan ? 'directory' : 'regular file'}`, {
      hint: 'Move it away, or use another --output-file.',
    });
  }
  return paths;
}

/**
 * Everything that the answers depend on, by the name of the flag it comes from; long values as their hash. The engine, the
 * speed and the share of the input are not part of it: they may change from run to run.
 */
export type RunSettings = JsonObject;

/** Where the rows come from: a name, `-` for stdin, and a hash of the first row. */
export interface RunInput {
  readonly name: string;
  readonly firstRow: string;
}

export interface RunFile {
  /** Unique; part of the names of what a run leaves elsewhere, such as batch jobs. */
  readonly runId: string;
  readonly createdAt: string;
  readonly settings: RunSettings;
  readonly input: RunInput;
  /** How the table is written, if the output is one. */
  readonly table?: CsvFormat;
  /** Whether lines are without their row. A table needs it. */
  readonly omitsInput?: boolean;
}

export function createRunId(): string {
  return randomId().slice(0, 8);
}

export function isRunId(value: unknown): value is string {
  return typeof value === 'string' && /^[\da-f]{8}$/.test(value);
}

export function hashSetting(text: string | undefined): string | undefined {
  return text === undefined ? undefined : `sha256:${sha256(text).slice(0, 32)}`;
}

export async function readRunFile({ run, named: output }: RunPaths): Promise<RunFile | undefined> {
  const state = await readFileState(run);
  if (state.kind === 'absent') return undefined;
  const file = state.kind === 'text' ? tryParseRunFile(state.text) : undefined;
  if (file !== undefined) return file;
  throw new AppError('usage', `${run} cannot be read: it says what ${output} was made with`, {
    hint: 'Use another --output-file.',
  });
}

export function tryParseRunFile(text: string): RunFile | undefined {
  const value = tryParseJson(text);
  if (!isObject(value) || value.format !== FORMAT || value.version !== VERSION || isTooDeep(value)) return undefined;
  const { runId, createdAt, settings, input, table, omitsInput } = value;
  if (!isRunId(runId) || typeof createdAt !== 'string' || !isObject(settings) || !isObject(input)) return undefined;
  const { name, firstRow } = input;
  if (typeof name !== 'string' || typeof firstRow !== 'string') return undefined;
  return {
    runId,
    createdAt,
    settings: toJsonObject(settings),
    input: { name, firstRow },
    table: tryParseTableFormat(table),
    omitsInput: omitsInput === true ? true : undefined,
  };
}

function tryParseTableFormat(value: unknown): CsvFormat | undefined {
  if (!isObject(value) || !Array.isArray(value.columns)) return undefined;
  const delimiter = DELIMITERS.find((each) => each === value.delimiter);
  const columns = value.columns.filter((column) => typeof column === 'string');
  if (delimiter === undefined) return undefined;
  return { delimiter, hasMark: value.hasMark === true, columns, isRaw: value.isRaw === true };
}

export async function writeRunFile({ run }: RunPaths, file: RunFile): Promise<void> {
  const document = { format: FORMAT, version: VERSION, ...file };
  await writeAtomic(run, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o644 });
}

/** Throws AppError `usage`, naming what changed, unless the output can go on with these settings and this input. */
export function checkSameRun(
  before: RunFile,
  now: Pick<RunFile, 'settings' | 'input'>,
  { named: output, failed }: RunPaths,
): void {
  // As maps: a run file may name `toString`, which every object has.
  const was = new Map(Object.entries(before.settings));
  const is = new Map(Object.entries(now.settings));
  const changes = [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => canonicalJson(was.get(name) ?? null) !== canonicalJson(is.get(name) ?? null))
    .map((name) => describeChange(name, was.get(name), is.get(name)));
  const isOtherFile = before.input.name !== now.input.name || now.input.name === '-';
  if (isOtherFile && before.input.firstRow !== now.input.firstRow && now.input.name !== failed) {
    changes.push(describeInputChange(before.input.name, now.input.name));
  }
  if (changes.length === 0) return;
  throw new AppError('usage', `${output} was made with other settings: ${changes.join('; ')}`, {
    hint: `Use the old ones to continue, another --output-file, or --restart to start over (the old output becomes ${output}.old).`,
  });
}

function describeInputChange(before: string, now: string): string {
  if (before === now) return 'what is piped in begins with another row';
  const [was, is] = [before, now].map((name) => (name === '-' ? 'stdin' : name));
  return `the input was ${was} then, and is ${is} now`;
}

/** A text that was given both times is long, so that only its hash is known. */
function describeChange(name: string, before: JsonValue | undefined, now: JsonValue | undefined): string {
  if (isHash(before) && isHash(now)) return `${name} has changed`;
  return `${name} was ${formatSetting(before)} then, and is ${formatSetting(now)} now`;
}

function isHash(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value.startsWith('sha256:');
}

const MAX_SHOWN = 60;

function formatSetting(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'not used';
  if (isHash(value)) return 'used';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
