import type { TestContext } from 'vitest';
import { UNNAMED_TOOL } from '../../src/core/content.ts';
import { isObject } from '../../src/core/json.ts';
import { callGmnIn, type GmnResult, place, runGmnIn } from '../support/gmn.ts';
import { type Answer, expectRefusal, expectReply, type Failure, isRefused, readChunks } from './expectation.ts';
import { LAST_WORDS, type Player, playRecording } from './player.ts';
import { findModel, findService, type Kind, type Recording } from './recording.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Scene {
  readonly recording: Recording;
  readonly player: Player;
  readonly run: (...words: readonly string[]) => Promise<GmnResult>;
  readonly problems: string[];
}

/** Plays one recording to the program and says what is wrong with what it does; an empty list is a pass. */
export async function judgeRecording(
  t: TestContext,
  recording: Recording,
  { kind, random, isSpawned }: { readonly kind: Kind; readonly random: () => number; readonly isSpawned: boolean },
): Promise<readonly string[]> {
  const player = await playRecording(t, recording, random);
  const here = place(t, { env: toEnvironment(recording, player.url) });
  const run = (...words: readonly string[]): Promise<GmnResult> =>
    // A picture is written to a descriptor.
    (isSpawned || hasPicture(recording) ? runGmnIn : callGmnIn)(
      t,
      here,
      words,
      kind === 'embed' ? countTexts(recording) : undefined,
    );
  const scene: Scene = { recording, player, run, problems: [] };
  await JUDGES[kind](scene);
  return scene.problems;
}

function hasPicture(recording: Recording): boolean {
  return recording.body.includes('inlineData');
}

function toEnvironment(recording: Recording, url: string): Readonly<Record<string, string>> {
  return findService(recording) === 'vertex'
    ? { GOOGLE_API_KEY: 'test-key-0123456789', GOOGLE_GENAI_USE_VERTEXAI: 'true', GOOGLE_VERTEX_BASE_URL: url }
    : { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: url };
}

const JUDGES: Readonly<Record<Kind, (scene: Scene) => Promise<void>>> = {
  prompt: judgePrompt,
  count: judgeCount,
  embed: judgeEmbed,
  models: (scene) => judgeList(scene, ['models', '--refresh', ...listFlags(scene)], 'models'),
  files: (scene) => judgeList(scene, ['files', 'list', ...listFlags(scene)], 'files'),
};

/** An error is in words, unless JSON is asked for. */
function listFlags({ recording }: Scene): readonly string[] {
  return isRefused(recording) ? [] : ['--json'];
}

async function judgePrompt(scene: Scene): Promise<void> {
  const expected = expectReply(scene.recording);
  if ('failure' in expected) await judgeFailure(scene, expected.failure);
  else await judgeAnswer(scene, expected.answer);
}

/** A conversation of three turns, each in another format: every one is asked for with the answers before it. */
async function judgeAnswer(scene: Scene, answer: Answer): Promise<void> {
  const { recording, player, run, problems } = scene;
  const isLast = answer.text === '' || answer.text.endsWith('\n');
  const text = answer.hasCalls ? `${answer.text}${isLast ? '' : '\n'}${LAST_WORDS}` : answer.text;
  const finishReason = answer.hasCalls ? 'STOP' : answer.finishReason;
  const words = ['-m', findModel(recording), '--retries', '0', ...(answer.hasCalls ? ['--tools', 'read'] : [])];
  const inText = await run('Hello', ...words);
  compare(problems, 'text: exit', inText.exitCode, 0);
  compare(problems, 'text: stdout', ...comparePrinted(inText, text, answer.files));
  const streamed = await run('-c', 'Go on', ...words, '-o', 'stream-json');
  compare(problems, 'stream-json: exit', streamed.exitCode, 0);
  const events = parseLines(streamed, problems);
  const shown = events.flatMap(({ type, text: delta }) => (type === 'content' ? [delta] : []));
  compare(problems, 'stream-json: text', shown.join(''), text);
  compareEnding(problems, 'stream-json', events.at(-1), { ...answer, finishReason });
  const whole = await run('-c', 'Go on', ...words, '-o', 'json');
  compare(problems, 'json: exit', whole.exitCode, 0);
  const [object] = parseLines({ ...whole, stdout: JSON.stringify(tryParse(whole.stdout)) }, problems);
  compare(problems, 'json: text', object?.response, text);
  compareEnding(problems, 'json', object, { ...answer, finishReason });
  compareHistory(problems, player.requests().at(-1), answer);
}

const WAV_HEADER = 44;

/** In a pipe the only file of an answer without text is the output. */
function comparePrinted(
  { bytes, stdout }: GmnResult,
  text: string,
  files: readonly string[],
): readonly [actual: string, expected: string] {
  const [file] = files;
  if (text === '' && file !== undefined) {
    const recorded = Buffer.from(file, 'base64');
    // Raw samples, which may come in pieces, become a WAV file: the first follow its header.
    const isWrapped = bytes.toString('latin1', 0, 4) === 'RIFF' && recorded.toString('latin1', 0, 4) !== 'RIFF';
    const shown = isWrapped ? bytes.subarray(WAV_HEADER, WAV_HEADER + recorded.length) : bytes;
    return [shown.toString('base64'), recorded.toString('base64')];
  }
  return [stdout, text === '' || text.endsWith('\n') ? text : `${text}\n`];
}

function compareEnding(
  problems: string[],
  format: string,
  object: Fields | undefined,
  { usage, finishReason }: Answer,
): void {
  compare(problems, `${format}: finish reason`, object?.finishReason, finishReason);
  compare(problems, `${format}: usage`, sortKeys(object?.usage), sortKeys(usage));
}

/** The last request has the recorded answer twice, part by part as it came, and once more before results of its calls. */
function compareHistory(problems: string[], request: Fields | undefined, { parts, hasCalls }: Answer): void {
  const contents = Array.isArray(request?.contents) ? request.contents.filter(isObject) : [];
  const replies = contents.filter(({ role }) => role === 'model').map((content) => content.parts);
  const sent = replies.filter((reply) => !isLastWords(reply));
  compare(problems, 'history: replies', sent.length, hasCalls ? 3 : 2);
  for (const reply of sent) {
    const list = Array.isArray(reply) ? reply : [];
    compare(problems, 'history', JSON.stringify(toComparable(list, parts)), JSON.stringify(parts));
  }
}

function isLastWords(parts: unknown): boolean {
  return JSON.stringify(parts) === JSON.stringify([{ text: LAST_WORDS }]);
}

const PLACEHOLDER = 'skip_thought_signature_validator';

/** Without what gmn adds to a call, as the API asks: an id, and on the first one a signature. */
function toComparable(sent: readonly Fields[], recorded: readonly Fields[]): readonly Fields[] {
  return sent.map((part, index) => {
    const original = recorded[index] ?? {};
    const { functionCall: call } = part;
    if (!isObject(call) || !isObject(original.functionCall)) return part;
    const { id, ...rest } = call;
    const { thoughtSignature, ...others } = part;
    const isAdded = thoughtSignature === PLACEHOLDER && original.thoughtSignature === undefined;
    const functionCall = original.functionCall.id === undefined ? rest : call;
    return { ...(isAdded ? others : part), functionCall: dropName(functionCall, original.functionCall) };
  });
}

/** gmn never asks for arguments in pieces; a piece without a name gets one, because the API takes none without. */
function dropName(call: Fields, original: Fields): Fields {
  const { name, ...rest } = call;
  return original.name === undefined && name === UNNAMED_TOOL ? rest : call;
}

async function judgeFailure(scene: Scene, failure: Failure): Promise<void> {
  const { recording, run, problems } = scene;
  const words = ['-m', findModel(recording), '--retries', '0', '--no-session', 'Hello'];
  const inText = await run(...words);
  compareFailure(problems, 'text', { exit: inText.exitCode, words: inText.stderr, text: inText.stdout }, failure);
  for (const format of ['json', 'stream-json']) {
    const result = await run(...words, '-o', format);
    const lines = format === 'json' ? [tryParse(result.stdout)] : parseLines(result, problems);
    const last = lines.at(-1);
    const error = isObject(last) && isObject(last.error) ? last.error : {};
    const text = String(error.partialResponse ?? '');
    compareFailure(problems, format, { exit: result.exitCode, words: String(error.message), text }, failure);
    compare(problems, `${format}: code`, error.code, result.exitCode);
    compare(problems, `${format}: stderr`, result.stderr, '');
  }
}

function compareFailure(
  problems: string[],
  format: string,
  shown: { readonly exit: number | null; readonly words: string; readonly text: string },
  { exits, words, text }: Failure,
): void {
  if (!exits.includes(shown.exit ?? -1)) problems.push(`${format}: exit ${shown.exit}, not ${exits.join(' or ')}`);
  for (const quote of words) {
    if (!shown.words.includes(quote)) problems.push(`${format}: does not say ${quote}: ${shown.words.slice(0, 300)}`);
  }
  compare(problems, `${format}: partial text`, shown.text.trimEnd(), text.trimEnd());
}

/** Of a command whose errors are words on stderr. */
function judgeRefusal(what: string, recording: Recording, { exitCode, stderr }: GmnResult, problems: string[]): void {
  compareFailure(problems, what, { exit: exitCode, words: stderr, text: '' }, expectRefusal(recording));
}

async function judgeCount({ recording, run, problems }: Scene): Promise<void> {
  const words = ['-m', findModel(recording), '--retries', '0', '--count-tokens', 'Hello'];
  if (isRefused(recording)) return judgeRefusal('count', recording, await run(...words), problems);
  const { exitCode, stdout } = await run(...words, '-o', 'json');
  const [recorded] = readChunks(recording.body);
  const shown = tryParse(stdout);
  compare(problems, 'exit', exitCode, 0);
  compare(problems, 'tokens', isObject(shown) ? shown.totalTokens : undefined, recorded?.totalTokens);
}

/** As many lines as the recorded request had texts. */
function countTexts({ url, body, request }: Recording): string {
  if (/:(?:embedContent|predict)(?:\?|$)/.test(url)) return 'text\n';
  const [{ embeddings = [] } = {}] = readChunks(body) as readonly { readonly embeddings?: readonly unknown[] }[];
  return 'text\n'.repeat(embeddings.length || request.split('"content"').length - 1);
}

async function judgeEmbed(scene: Scene): Promise<void> {
  const { recording, run, problems } = scene;
  const result = await run('embed', '-m', findModel(recording), '--retries', '0');
  if (isRefused(recording)) return judgeRefusal('embed', recording, result, problems);
  compare(problems, 'exit', result.exitCode, 0);
  const vectors = parseLines(result, problems).map(({ values }) => values);
  compare(problems, 'vectors', JSON.stringify(vectors), JSON.stringify(findVectors(tryParse(recording.body))));
}

/** Every `values` in the answer. One text is sent at a time to the address of `predict`, so of that the first is taken. */
function findVectors(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(findVectors);
  if (!isObject(value)) return [];
  if (Array.isArray(value.values)) return [value.values];
  if (Array.isArray(value.predictions)) return findVectors(value.predictions.slice(0, 1));
  return Object.values(value).flatMap(findVectors);
}

async function judgeList({ recording, run, problems }: Scene, words: readonly string[], key: string): Promise<void> {
  const result = await run(...words);
  if (isRefused(recording)) return judgeRefusal(key, recording, result, problems);
  compare(problems, 'exit', result.exitCode, 0);
  const [page] = readChunks(recording.body);
  const list: unknown = page?.[key];
  for (const entry of Array.isArray(list) ? list.filter(isObject) : []) {
    const { name, supportedGenerationMethods: methods } = entry;
    if (Array.isArray(methods) && !methods.includes('generateContent')) continue;
    const id = String(name).replace(/^.*\//, '');
    if (!result.stdout.includes(id)) problems.push(`${key}: ${id} is not listed`);
  }
}

function parseLines({ stdout }: Pick<GmnResult, 'stdout'>, problems: string[]): readonly Fields[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  const values = lines.map(tryParse);
  if (!values.every(isObject)) problems.push(`stdout is not JSON: ${stdout.slice(0, 200)}`);
  return values.filter(isObject);
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sortKeys(value: unknown): string {
  return JSON.stringify(Object.entries(isObject(value) ? value : {}).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const SHOWN = 300;

function compare(problems: string[], what: string, actual: unknown, expected: unknown): void {
  if (Object.is(actual, expected)) return;
  const [left, right] = [actual, expected].map((value) => String(typeof value === 'string' ? value : `${value}`));
  const at = findDifference(left ?? '', right ?? '');
  const cut = (text = ''): string => JSON.stringify(text.slice(Math.max(0, at - 40), at + SHOWN));
  problems.push(`${what}: ${cut(left)}, not ${cut(right)}`);
}

function findDifference(left: string, right: string): number {
  let at = 0;
  while (at < left.length && left[at] === right[at]) at += 1;
  return at;
}
