import { AppError } from '../core/error.ts';
import { canonicalJson, isObject, type JsonObject, type JsonValue, toJsonObject, tryParseJson } from '../core/json.ts';
import { readFileState } from '../platform/files/read.ts';
import { writeAtomic } from '../platform/files/write.ts';
import { sha256 } from '../platform/runtime/native.ts';

const FORMAT = 'gmn-batch';
const VERSION = 1;

/** The files beside an output. All of them begin with its name. */
export function toRunPaths(output: string) {
  return {
    output,
    run: `${output}.run.json`,
    failed: `${output}.failed.jsonl`,
    lock: `${output}.lock`,
    /** The last output that `--restart` replaced. */
    old: `${output}.old`,
  };
}

export type RunPaths = ReturnType<typeof toRunPaths>;

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
  /** Unique; names what a run leaves elsewhere, such as batch jobs. */
  readonly runId: string;
  readonly createdAt: string;
  readonly settings: RunSettings;
  readonly input: RunInput;
}

export function hashSetting(text: string): string {
  return `sha256:${sha256(text).slice(0, 32)}`;
}

/** Undefined if there is none. Throws AppError `usage` if it is not one of ours. */
export async function readRunFile({ run, output }: RunPaths): Promise<RunFile | undefined> {
  const state = await readFileState(run);
  if (state.kind === 'absent') return undefined;
  const value = state.kind === 'text' ? tryParseJson(state.text) : undefined;
  if (isObject(value) && value.format === FORMAT && value.version === VERSION && typeof value.runId === 'string') {
    const input = toJsonObject(value.input);
    return {
      runId: value.runId,
      createdAt: String(value.createdAt),
      settings: toJsonObject(value.settings),
      input: { name: String(input.name ?? ''), firstRow: String(input.firstRow ?? '') },
    };
  }
  throw new AppError('usage', `${run} cannot be read: it says what ${output} was made with`, {
    hint: 'Use another --output-file.',
  });
}

/** On disk when it resolves. Throws AppError `config`. */
export async function writeRunFile({ run }: RunPaths, file: RunFile): Promise<void> {
  const document = { format: FORMAT, version: VERSION, ...file };
  await writeAtomic(run, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o644 });
}

/** Throws AppError `usage`, naming what changed, unless the output can go on with these settings and this input. */
export function checkSameRun(
  before: RunFile,
  now: Pick<RunFile, 'settings' | 'input'>,
  { output, failed }: RunPaths,
): void {
  const names = [...new Set([...Object.keys(before.settings), ...Object.keys(now.settings)])];
  const changes = names
    .filter((name) => !isEqualJson(before.settings[name], now.settings[name]))
    .map((name) => `${name} was ${formatSetting(before.settings[name])}, is ${formatSetting(now.settings[name])}`);
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
  return `the input was ${was}, is ${is}`;
}

function isEqualJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  return canonicalJson(left ?? null) === canonicalJson(right ?? null);
}

const MAX_SHOWN = 60;

function formatSetting(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'not given';
  if (typeof value === 'string' && value.startsWith('sha256:')) return `another text (${value.slice(7, 15)})`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
