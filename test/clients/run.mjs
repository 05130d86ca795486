// `npm run test:clients [-- --only turns] [-- --seed 1] [-- --turns 400] [-- --allow-skip]`: gmn inside other programs. The Go client of
// docs/process.md is compiled and run, the agent for Terminal-Bench is run against a stand-in of Harbor, promptfoo itself runs the example
// for it, a program in Python drives one process through turns of all kinds and kills it (turns.py), and two promises are measured: the
// memory of one process over many turns, and how soon a cancelled `ask` is over. Needs Go (or GO=<program>), Python, and promptfoo with a
// Node that it runs on: PROMPTFOO=<directory where `npm install promptfoo` was run>. Writes docs/dev/results/clients-<date>.json.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { root, run } from '../../scripts/project.mjs';
import { cacheDirectory, fetchPackage } from '../peers/fetch.mjs';

/** Turns before the first look at the memory: by then everything is loaded and compiled, which takes 4 MB. */
const WARM_UP = 750;
const TURNS = 2000;
/** What a turn may leave: the prompt and its answer, which stay in the conversation. */
const MAX_BYTES_PER_TURN = 4096;
const CANCELLATIONS = 200;
const MAX_CANCEL_MS = 100;

/** The two classes of Harbor that docs/examples/terminal_bench.py imports or is given, as far as it uses them. */
const STAND_IN = `
import asyncio, json, os, subprocess, sys, types
class BaseAgent:
    def __init__(self, model_name=None): self.model_name = model_name
base = types.ModuleType("harbor.agents.base"); base.BaseAgent = BaseAgent
for name in ("harbor", "harbor.agents"): sys.modules[name] = types.ModuleType(name)
sys.modules["harbor.agents.base"] = base
sys.path.insert(0, os.environ["EXAMPLES"])
from terminal_bench import GmnAgent
class Environment:
    commands = []
    async def exec(self, command, env=None):
        self.commands.append(command)
        if "npm install" in command: return types.SimpleNamespace(return_code=0, stdout="", stderr="")
        ran = subprocess.run(command, shell=True, capture_output=True, text=True, env={**os.environ, **(env or {})})
        return types.SimpleNamespace(return_code=ran.returncode, stdout=ran.stdout, stderr=ran.stderr)
agent, environment, context = GmnAgent(model_name="google/gemini-2.5-flash"), Environment(), types.SimpleNamespace()
async def main():
    await agent.setup(environment)
    await agent.run("call write_file {\\"file_path\\":\\"it's.txt\\",\\"content\\":\\"done\\"}", environment, context)
asyncio.run(main())
print(json.dumps({"name": agent.name(), "commands": len(environment.commands), **vars(context)}))
`;

/** Collects the garbage of the process, and says how much is left. */
const HEAP_HOOK = `process.on('SIGUSR2', () => {
  globalThis.gc();
  require('node:fs').writeFileSync(process.env.HEAP_FILE, String(process.memoryUsage().heapUsed));
});`;

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    turns: { type: 'string', default: '400' },
    'allow-skip': { type: 'boolean' },
  },
});
run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
const { ask } = await import(pathToFileURL(join(root, 'dist/gmn.mjs')).href);
const { demo } = await import(pathToFileURL(join(root, 'dist/demo.mjs')).href);
const place = mkdtempSync(join(tmpdir(), 'gmn-clients-'));
const GMN = join(root, 'bin/gmn.js');
/** gmn that says how much memory it needs. */
const WATCHED_GMN = ['--expose-gc', '--require', join(place, 'hook.cjs'), GMN];
const HEAP_FILE = join(place, 'heap');
const results = {};
const problems = [];
const skipped = [];

try {
  const bin = join(place, 'bin');
  for (const name of ['bin', 'home', 'work']) mkdirSync(join(place, name));
  writeFileSync(join(bin, 'gmn'), `#!/bin/sh\nexec "${process.execPath}" "${GMN}" "$@"\n`);
  chmodSync(join(bin, 'gmn'), 0o755);
  writeFileSync(join(place, 'hook.cjs'), HEAP_HOOK);
  for (const [name, check] of Object.entries({
    go: checkGo,
    python: checkAgent,
    turns: checkTurns,
    promptfoo: checkPromptfoo,
    memory: checkMemory,
    cancel: checkCancel,
  })) {
    if (flags.only === undefined || flags.only === name) report(name, await check());
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
if (problems.length === 0 && skipped.length === 0 && flags.only === undefined) {
  const file = `clients-${new Date().toISOString().slice(0, 10)}.json`;
  writeFileSync(
    join(root, 'docs/dev/results', file),
    `${JSON.stringify({ node: process.version, ...results }, null, 2)}\n`,
  );
  console.log(`docs/dev/results/${file}`);
}
process.exitCode = problems.length > 0 || (skipped.length > 0 && !flags['allow-skip']) ? 1 : 0;

function report(name, { skip, problem, ...figures }) {
  if (skip !== undefined) skipped.push(`${name}: ${skip}`);
  if (problem !== undefined) problems.push(`${name}: ${problem}`);
  results[name] = skip ?? { ...figures, ...(problem && { problem }) };
  const outcome = skip === undefined ? `${problem ?? 'fine'} ${JSON.stringify(figures)}` : `skipped: ${skip}`;
  console.log(`${name}: ${outcome}`);
}

/** A program that finds gmn on its path, with this server in place of Google's. */
function environment(server) {
  const path = [join(place, 'bin'), process.env.PATH].join(delimiter);
  return { PATH: path, HOME: join(place, 'home'), GEMINI_API_KEY: 'demo', GOOGLE_GEMINI_BASE_URL: server.url };
}

async function runProgram(file, args, server, more = {}, cwd = join(place, 'work')) {
  const child = spawn(file, args, { cwd, env: { ...environment(server), ...more } });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (output[name] += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { ...output, code };
}

async function checkGo() {
  const go = process.env.GO ?? 'go';
  const version = spawnSync(go, ['version'], { encoding: 'utf8' });
  if (version.status !== 0) return { skip: 'there is no go' };
  const [, source] = /```go\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/process.md'), 'utf8'));
  writeFileSync(join(place, 'main.go'), source);
  const client = join(place, 'client');
  const env = { ...process.env, GO111MODULE: 'off', GOCACHE: join(place, 'cache'), GOFLAGS: '' };
  for (const args of [
    ['vet', 'main.go'],
    ['build', '-o', client, 'main.go'],
  ]) {
    const { status, stderr } = spawnSync(go, args, { cwd: place, env, encoding: 'utf8' });
    if (status !== 0) return { problem: stderr };
  }
  const respond = (...parts) =>
    JSON.stringify({
      method: 'generateContentStream',
      response: [{ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }],
    });
  const written = { functionCall: { name: 'write_file', args: { file_path: 'notes.txt', content: 'old pond\n' } } };
  const script = [respond(written), respond({ text: 'It is written.' }), respond({ text: 'Spring\u2028!' })].join('\n');
  const server = await demo({ script });
  const { stdout, stderr, code } = await runProgram(client, [], server);
  await server.close();
  const notes = join(place, 'work/notes.txt');
  const isRight =
    code === 0 && stdout === 'It is written.\nSpring\u2028!\n' && readFileSync(notes, 'utf8') === 'old pond\n';
  return { go: version.stdout.trim(), ...(isRight ? {} : { problem: `exit ${code}: ${stdout}${stderr}` }) };
}

async function checkAgent() {
  const version = spawnSync('python3', ['--version'], { encoding: 'utf8' });
  if (version.status !== 0) return { skip: 'there is no python3' };
  const server = await demo();
  const more = { EXAMPLES: join(root, 'docs/examples'), GMN_PACKAGE: 'gmn', PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout, stderr, code } = await runProgram('python3', ['-c', STAND_IN], server, more);
  await server.close();
  if (code !== 0) return { problem: stderr };
  const { name, commands, n_input_tokens: read } = JSON.parse(stdout);
  const isWritten = existsSync(join(place, 'work', "it's.txt"));
  const isRight = name === 'gmn' && commands === 2 && read > 0 && isWritten;
  return { python: version.stdout.trim(), ...(isRight ? {} : { problem: stdout }) };
}

/** A row for each check of turns.py. */
async function checkTurns() {
  if (process.platform !== 'linux') return { skip: 'pipes and processes are looked into as Linux shows them' };
  if (spawnSync('python3', ['--version']).status !== 0) return { skip: 'there is no python3' };
  const home = join(place, 'turns');
  const work = join(home, 'work');
  mkdirSync(work, { recursive: true });
  const outfile = join(place, 'model.mjs');
  const entryPoints = [join(root, 'test/clients/model.ts')];
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm' });
  const model = await (await import(pathToFileURL(outfile).href)).startModel();
  const { seed, turns } = flags;
  const args = [join(root, 'test/clients/turns.py'), seed, turns, process.execPath, ...WATCHED_GMN];
  const { stdout, stderr, code } = await runProgram('python3', args, model, { HOME: home, HEAP_FILE }, work);
  const refusal = await model.close().then(
    () => undefined,
    (thrown) => String(thrown),
  );
  for (const line of stdout.split('\n').filter((text) => text !== '')) {
    const { name, ...outcome } = JSON.parse(line);
    report(`turns: ${name}`, outcome);
  }
  const problem = code === 0 ? refusal : `exit ${code}: ${stderr}`;
  return { seed, turns, ...(problem && { problem }) };
}

/** It has 760 packages, and asks for Node 22. Nothing of it is sent anywhere. */
async function checkPromptfoo() {
  const installed = join(process.env.PROMPTFOO ?? '', 'node_modules/promptfoo');
  if (!process.env.PROMPTFOO || !existsSync(installed))
    return { skip: 'there is no promptfoo (PROMPTFOO=<directory>)' };
  if (process.platform !== 'linux') return { skip: 'the package of Node 22 is for Linux' };
  const node = fetchPackage(cacheDirectory('gmn-node'), `node-linux-${process.arch}@22.23.3`, join('bin', 'node'));
  const { version, bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  mkdirSync(join(place, 'work/node_modules'));
  symlinkSync(root, join(place, 'work/node_modules/gmn'));
  for (const name of ['promptfoo.yaml', 'promptfoo-provider.mjs']) {
    copyFileSync(join(root, 'docs/examples', name), join(place, 'work', name));
  }
  const server = await demo();
  const quiet = ['TELEMETRY', 'UPDATE', 'REMOTE_GENERATION', 'SHARING'].map((name) => [
    `PROMPTFOO_DISABLE_${name}`,
    '1',
  ]);
  const own = { PROMPTFOO_CONFIG_DIR: join(place, 'promptfoo'), PROMPTFOO_CACHE_ENABLED: 'false' };
  const args = [join(installed, bin.promptfoo), 'eval', '-c', 'promptfoo.yaml', '--no-progress-bar', '-o', 'out.json'];
  const { code, stdout, stderr } = await runProgram(node, args, server, { ...Object.fromEntries(quiet), ...own });
  await server.close();
  if (code !== 0) return { problem: `exit ${code}: ${stdout}${stderr}` };
  const { results } = JSON.parse(readFileSync(join(place, 'work/out.json'), 'utf8'));
  const { successes, failures, errors, tokenUsage } = results.stats;
  const isRight = successes === 2 && failures + errors === 0 && tokenUsage.total > 0 && server.requests.length === 2;
  return {
    promptfoo: version,
    node: '22.23.3',
    successes,
    ...(isRight ? {} : { problem: JSON.stringify(results.stats) }),
  };
}

async function checkMemory() {
  const server = await demo();
  const args = ['--input-format', 'stream-json', '-o', 'stream-json', '--no-session', '--tools', 'read'];
  const child = spawn(process.execPath, [...WATCHED_GMN, ...args], {
    cwd: join(place, 'work'),
    env: { ...environment(server), HEAP_FILE },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const readEnding = createEndings(child.stdout);
  const measure = async () => {
    rmSync(HEAP_FILE, { force: true });
    child.kill('SIGUSR2');
    while (!existsSync(HEAP_FILE) || readFileSync(HEAP_FILE, 'utf8') === '') await sleep(5);
    return Number(readFileSync(HEAP_FILE, 'utf8'));
  };
  let begin = 0;
  for (let turn = 1; turn <= TURNS; turn += 1) {
    child.stdin.write(`${JSON.stringify({ type: 'prompt', id: String(turn), text: `hello ${turn}` })}\n`);
    const { type } = await readEnding();
    if (type !== 'done') return { problem: `turn ${turn} ended with ${type}` };
    if (turn === WARM_UP) begin = await measure();
  }
  const grown = (await measure()) - begin;
  child.stdin.end();
  await ended;
  await server.close();
  const bytesPerTurn = Math.round(grown / (TURNS - WARM_UP));
  const problem = bytesPerTurn > MAX_BYTES_PER_TURN ? `${bytesPerTurn} bytes a turn` : undefined;
  return { turns: TURNS, heapAfterWarmUp: begin, bytesPerTurn, ...(problem && { problem }) };
}

function createEndings(stream) {
  const endings = [];
  let rest = '';
  let wake = () => {};
  stream.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    endings.push(...lines.map((line) => JSON.parse(line)).filter(({ type }) => type === 'done' || type === 'error'));
    wake();
  });
  return async () => {
    while (endings.length === 0) await new Promise((resolve) => (wake = resolve));
    return endings.shift();
  };
}

async function checkCancel() {
  const server = await demo({ faults: ['hang'] });
  const times = [];
  for (let count = 1; count <= CANCELLATIONS; count += 1) {
    const controller = new AbortController();
    const failed = ask('never answered', { server, signal: controller.signal }).catch(() => performance.now());
    while (server.requests.length < count) await sleep(1);
    const begin = performance.now();
    controller.abort();
    times.push((await failed) - begin);
  }
  await server.close();
  times.sort((a, b) => a - b);
  const worst = times.at(-1);
  const problem = worst > MAX_CANCEL_MS ? `${worst.toFixed(1)} ms` : undefined;
  const figures = { medianMs: times[times.length / 2], worstMs: worst };
  return { count: times.length, ...roundAll(figures), ...(problem && { problem }) };
}

function roundAll(figures) {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(value * 1000) / 1000]));
}
