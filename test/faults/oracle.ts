import { join } from 'node:path';
import { isObject } from '../../src/core/json.ts';
import { canariesIn, strayCanaries } from '../support/canaries.ts';
import type { Expected, Variant } from './fault.ts';
import { type Scene, WITHIN_MS } from './scene.ts';
import type { Ended } from './started.ts';
import { brokenSessions, fingerprint, leftovers, marked, openModes } from './traces.ts';

const MAX_STDERR_LINES = 20;
const MEMORY_MB = 200;
/** How long a process may outlive the run it belongs to. */
const GRACE_MS = 5000;

type Tell = Scene['problem'];

/** Plays a variant and holds everything against the rules; what is wrong is in the scene's problems. */
export async function judge(scene: Scene, variant: Variant): Promise<void> {
  const played = variant.play === undefined ? scene.run() : variant.play(scene);
  const ended = await inTime(played, (variant.withinMs ?? WITHIN_MS) + GRACE_MS).catch((thrown: unknown) => {
    scene.problem('other', thrown instanceof Error ? thrown.message : String(thrown));
    scene.kill();
    return undefined;
  });
  await checkProcesses(scene);
  scene.kill();
  for (const run of scene.started) checkRun(await run.ended, variant, scene.problem);
  if (ended !== undefined) checkExpected(ended, variant.expect, scene.problem);
  const said = scene.started.map((run) => run.output().slice(-500)).join('\n');
  for (const fault of await scene.server.faults()) scene.problem('requests', `${fault}: ${said}`);
  await checkPlace(scene, variant);
  try {
    await variant.check?.(scene);
  } catch (thrown) {
    scene.problem('other', thrown instanceof Error ? thrown.message : String(thrown));
  }
}

/** A play may wait for something that never comes. */
async function inTime<Result>(played: Promise<Result>, ms: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the play did not come to its end')), ms);
  });
  return Promise.race([played, late]).finally(() => clearTimeout(timer));
}

/** What holds for every run, whatever was expected of it. */
export function checkRun(ended: Ended, { memoryMb = MEMORY_MB }: Pick<Variant, 'memoryMb'>, tell: Tell): void {
  const { stdout, stderr, isHung, peakMb, modes, way } = ended;
  const output = `${stdout}\n${stderr}`;
  if (isHung) tell('hang', output.slice(-500));
  if (/^\s+at .+:\d+|UnhandledPromise|node:internal|^\w*(?:Type|Reference|Range)Error\b/m.test(output)) {
    tell('stack', output.slice(-1500));
  }
  // Each tool call has a line of its own, however many there are.
  const messages = stderr.split('\n').filter((line) => !/^[✓✗] /.test(line));
  if (messages.length - 1 > MAX_STDERR_LINES) tell('noise', stderr.slice(0, 2000));
  const leaked = canariesIn(output);
  if (leaked.length > 0) tell('leak', `in the output: ${leaked.join(', ')}`);
  if (peakMb !== undefined && peakMb > memoryMb) tell('memory', `${Math.round(peakMb)} MB of ${memoryMb}`);
  if (way.surface === 'terminal') checkTerminal(stdout, modes, tell);
  const isWhole = !isHung && ended.signal === null && ended.code !== null;
  if (isWhole && way.format === 'json') checkJson(ended, tell);
  if (isWhole && way.format === 'stream-json') checkStreamJson(ended, tell);
}

/** Modes that gmn turns on, and must turn off: the cursor, bracketed paste, the mouse, the other screen, keyboard protocols. */
const MODE = /\u001b\[\?(\d+)([hl])/g;
const ON_BY_NATURE = ['25', '7'];

function checkTerminal(output: string, modes: readonly string[] | undefined, tell: Tell): void {
  // A terminal that is gone has no modes.
  if (modes === undefined) return;
  if (modes[0] !== modes[1]) tell('terminal', `stty ${modes[0]} became ${modes[1]}`);
  const last = new Map([...output.matchAll(MODE)].map(([, mode = '', how]) => [mode, how]));
  for (const [mode, how] of last) {
    if ((how === 'h') !== ON_BY_NATURE.includes(mode)) tell('terminal', `mode ${mode} was left ${how}`);
  }
}

interface Answered {
  readonly text: string;
  /** Everything said to the person. */
  readonly words: string;
}

/** The documents of a JSON format, or why it is none. */
function documents({ stdout, way }: Ended, tell: Tell): readonly Readonly<Record<string, unknown>>[] {
  const text = way.surface === 'terminal' ? stdout.replaceAll('\r\n', '\n') : stdout;
  const lines = text.split('\n');
  const pieces = way.format === 'json' ? [text] : lines.slice(0, -1);
  try {
    if (way.format === 'stream-json' && lines.at(-1) !== '') throw new Error('the last line has no end');
    return pieces.map((piece) => {
      const value: unknown = JSON.parse(piece);
      if (!isObject(value)) throw new Error('not an object');
      return value;
    });
  } catch (thrown) {
    tell('grammar', `${thrown instanceof Error ? thrown.message : ''}: ${text.slice(0, 1000)}`);
    return [];
  }
}

function checkJson(ended: Ended, tell: Tell): void {
  const [document] = documents(ended, tell);
  if (document === undefined) return;
  checkError(document.error, ended, tell);
  if (document.error === undefined && typeof document.response !== 'string') tell('grammar', 'no response');
  if (ended.stderr !== '') tell('noise', `stderr next to json: ${ended.stderr.slice(0, 500)}`);
}

function checkStreamJson(ended: Ended, tell: Tell): void {
  const events = documents(ended, tell);
  const types = events.map(({ type }) => type);
  const endings = types.filter((type) => type === 'done' || type === 'error');
  if (events.length === 0 || endings.length !== 1 || types.at(-1) !== endings[0]) {
    tell('grammar', `not one ending, which is last: ${types.slice(-5).join(' ')}`);
  }
  if (types.length > 1 && types[0] !== 'start') tell('grammar', `begins with ${types[0]}`);
  checkError(events.at(-1)?.error, ended, tell);
  if (ended.stderr !== '') tell('noise', `stderr next to stream-json: ${ended.stderr.slice(0, 500)}`);
}

const TYPES = /^(?:Usage|Internal|Limit|Auth|Api|Config|Mcp)Error$|^Interrupted$/;

function checkError(error: unknown, { code }: Ended, tell: Tell): void {
  if (error === undefined) {
    if (code !== 0) tell('grammar', `exit code ${code} without an error`);
    return;
  }
  if (!isObject(error) || error.code !== code) tell('grammar', `error.code is not the exit code ${code}`);
  else if (!TYPES.test(String(error.type)) || !error.message || !error.suggestion) {
    tell('grammar', `an error without type, message or suggestion: ${JSON.stringify(error).slice(0, 300)}`);
  }
}

/** What a run said, read as its format has it. */
export function answered(ended: Ended): Answered {
  const { way, stdout, stderr } = ended;
  if (way.surface === 'terminal' && (way.format === 'text' || way.format === 'none')) {
    const shown = stdout.replaceAll('\r\n', '\n').replace(/\u001b\[[\d;?<>=]*[A-Za-z]|\r/g, '');
    return { text: shown, words: shown };
  }
  if (way.format === 'text' || way.format === 'none') return { text: stdout.replace(/\n$/, ''), words: stderr };
  const all = documents(ended, () => {});
  const last = all.at(-1) ?? {};
  const error = isObject(last.error) ? last.error : {};
  const warnings: unknown = last.warnings ?? error.warnings;
  const words = [error.message, error.suggestion, ...(Array.isArray(warnings) ? warnings : [])].join('\n');
  const streamed = all.flatMap(({ type, text }) => (type === 'content' ? [String(text)] : [])).join('');
  const whole = way.format === 'json' ? String(last.response ?? error.partialResponse ?? '') : streamed;
  return { text: whole.replace(/\n$/, ''), words };
}

/** Holds one run against what was expected of it. */
export function checkExpected(ended: Ended, { code, says, text }: Expected, tell: Tell): void {
  const codes = Array.isArray(code) ? code : [code];
  if (!codes.includes(ended.code)) {
    tell('code', `${ended.code ?? ended.signal} in place of ${codes.join(' or ')}: ${shortened(ended)}`);
  }
  const said = answered(ended);
  if (says !== undefined && !says.test(said.words)) tell('words', `${says} is not in ${JSON.stringify(said.words)}`);
  if (text === undefined) return;
  const isShown = ended.way.surface === 'terminal' && ended.way.format === 'text';
  const isThere = isShown ? squeezed(said.text).includes(squeezed(text)) : said.text === text.replace(/\n$/, '');
  if (!isThere) tell('lost', `${JSON.stringify(text.slice(0, 200))} is not ${JSON.stringify(said.text.slice(0, 300))}`);
}

/** A terminal breaks lines where it likes. */
function squeezed(text: string): string {
  return text.replace(/\s+/g, '');
}

function shortened({ stdout, stderr }: Ended): string {
  return `${stdout.slice(-500)} ${stderr.slice(-500)}`;
}

async function checkProcesses(scene: Scene): Promise<void> {
  const marker = scene.marker.join('=');
  const giveUpAt = Date.now() + GRACE_MS;
  let left = marked(marker);
  while (left.length > 0 && Date.now() < giveUpAt) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    left = marked(marker);
  }
  if (left.length > 0) scene.problem('process', `${left.length} left`);
}

async function checkPlace(scene: Scene, { leaves = [] }: Variant): Promise<void> {
  for (const stray of strayCanaries(scene.root)) scene.problem('leak', stray);
  const isAllowed = (path: string): boolean =>
    leaves.includes(/\.lock|\.breaking|\/locks\//.test(path) ? 'lock' : 'temporary');
  for (const path of leftovers(scene.root)) if (!isAllowed(path)) scene.problem('leftover', path);
  if (!leaves.includes('foreign-mode')) for (const path of openModes(scene.home)) scene.problem('mode', path);
  if (!leaves.includes('gemini') && fingerprint(join(scene.home, '.gemini')) !== scene.geminiBefore) {
    scene.problem('foreign', '~/.gemini was changed');
  }
  for (const fault of await brokenSessions(scene.gmnHome)) scene.problem('session', fault);
}
