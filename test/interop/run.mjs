// `npm run test:interop [-- --allow-skip]`: other Gemini clients against gmn's offline model, and gmn beside them.
// The clients come from ../peers/clients and are installed into a cache outside the tree.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { peerVersion, requirePeers } from '../peers/install.mjs';
import { commandLines } from './command-lines.mjs';
import { cleanEnv, runNode } from './processes.mjs';
import { batchRows } from './sdk/batches.mjs';
import { fileRows } from './sdk/files.mjs';
import { mediaRows } from './sdk/media.mjs';
import { readOfficialState } from './state.mjs';
import { compareWire } from './wire.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags } = parseArgs({
  options: { 'allow-skip': { type: 'boolean' }, gmn: { type: 'string', default: join(root, 'bin', 'gmn.js') } },
});
const MODEL = 'gemini-2.5-flash';
const HELLO = 'Hello! How can I help you today?';
const CALLS = 'call read_file {"file_path":"a.txt"}\ncall glob {"pattern":"*.md"}\nthen call glob {"pattern":"*.txt"}';

const cache = requirePeers('clients', 'the clients', { isSkipAllowed: flags['allow-skip'] });
const geminiVersion = peerVersion('@google/gemini-cli');
const sdk = { cache, version: peerVersion('@google/genai') };
const gemini = join(cache, 'node_modules', '@google', 'gemini-cli', 'bundle', 'gemini.js');
if (!existsSync(join(root, 'dist', 'boot.js')) && flags.gmn.startsWith(root)) {
  const built = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
  if (built.status !== 0) process.exit(built.status ?? 1);
}

const preload = `--import=${pathToFileURL(join(here, 'offline-google.mjs')).href}`;
const scratch = mkdtempSync(join(tmpdir(), 'gmn-interop-run-'));
const work = join(scratch, 'work');
const homes = { key: join(scratch, 'key'), oauth: join(scratch, 'oauth') };
const script = join(scratch, 'script.jsonl');
const started = [];
let rows = [];
let wire = [];
try {
  prepareFiles();
  const demo = await serve([]);
  const replay = await serve(['--script', script]);
  const bin = join(cache, 'node_modules', '.bin');
  const peers = { gemini, gmn: flags.gmn, bin, scratch, preload };
  const compared = await compareWire(peers);
  wire = compared.record;
  rows = [
    ...(await runAll(demo, replay)),
    ...(await batchRows({ ...sdk, url: (await serve([])).url })),
    // A server of its own: some of its requests are to be refused.
    ...(await mediaRows({ ...sdk, url: (await serve([])).url })),
    ...(await readOfficialState(peers)),
    ...compared.rows,
    ...(await commandLines({ ...peers, url: demo.url, cwd: work })),
    ...(await fileRows({ ...sdk, url: demo.url, cwd: work })),
  ];
} finally {
  // Each writes its code cache as it ends, so the files can go only after that.
  await Promise.all(started.map(ended));
  rmSync(scratch, { recursive: true, force: true });
}
report(
  rows.map((row) => ({ ...row, detail: row.detail.replaceAll(scratch, '<scratch>').replaceAll(root, '<gmn>/') })),
  wire,
);
process.exitCode = rows.every((row) => row.ok || row.isOpen) ? 0 : 1;

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  return new Promise((resolve) => {
    child.on('exit', resolve);
    child.kill('SIGTERM');
  });
}

/** Two homes, one for each way to sign in, and a recording to replay. */
function prepareFiles() {
  mkdirSync(work);
  writeFileSync(join(work, 'a.txt'), 'hello\n');
  for (const [name, selectedType] of [
    ['key', 'gemini-api-key'],
    ['oauth', 'oauth-personal'],
  ]) {
    mkdirSync(join(homes[name], '.gemini'), { recursive: true });
    const settings = { security: { auth: { selectedType } } };
    writeFileSync(join(homes[name], '.gemini', 'settings.json'), JSON.stringify(settings));
  }
  const chunk = (text, more) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }] });
  const response = [chunk('from '), chunk('a script', { finishReason: 'STOP' })];
  const line = JSON.stringify({ method: 'generateContentStream', response });
  writeFileSync(script, `${line}\n${line}\n`);
}

/** Starts `gmn demo serve` and gives its address; `requests` collects what it was asked. */
function serve(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [flags.gmn, 'demo', 'serve', '--port', '0', ...args], {
      env: cleanEnv(homes.key, {}),
    });
    started.push(child);
    const requests = [];
    let out = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text;
      if (out.includes('\n')) resolve({ url: out.slice(0, out.indexOf('\n')), requests });
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      errors += text;
      requests.push(...text.trim().split('\n'));
    });
    child.on('exit', (code) => reject(new Error(`gmn demo serve ended with ${code}: ${errors}`)));
  });
}

async function runAll(demo, replay) {
  const modes = {
    'api key': (url) => cleanEnv(homes.key, { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: url }),
    'code assist': (url) =>
      cleanEnv(homes.oauth, {
        GOOGLE_GENAI_USE_GCA: 'true',
        GOOGLE_CLOUD_ACCESS_TOKEN: 'x',
        GOOGLE_CLOUD_PROJECT: 'p',
        CODE_ASSIST_ENDPOINT: url,
      }),
  };
  const official = (model, ...args) => [gemini, '-m', model, '--skip-trust', ...args];
  const table = [];
  const add = async (client, mode, what, { args, url, check }) => {
    const env = { ...modes[mode](url), ...(client === 'gmn' ? {} : { NODE_OPTIONS: preload }) };
    table.push({ client, mode, what, ...(await outcome(args, env, check)) });
  };
  for (const mode of Object.keys(modes)) {
    const name = `gemini-cli ${geminiVersion}`;
    const { url } = demo;
    await add(name, mode, 'text', { args: official(MODEL, '-p', 'Hello'), url, check: isText });
    await add(name, mode, 'json', { args: official(MODEL, '-o', 'json', '-p', 'Hello'), url, check: isJson });
    await add(name, mode, 'stream-json', {
      args: official(MODEL, '-o', 'stream-json', '-p', 'Hello'),
      url,
      check: isOfficialStream,
    });
    await add(name, mode, 'tools, signatures checked', {
      args: official('gemini-3-flash-preview', '-p', CALLS),
      url,
      check: (out) => out.startsWith('demo: glob answered: Found 1 file'),
    });
    const gmnArgs = [flags.gmn, '-m', MODEL, '--no-stdin'];
    await add('gmn', mode, 'text', { args: [...gmnArgs, 'Hello'], url, check: (out) => out === `${HELLO}\n` });
    await add('gmn', mode, 'json', { args: [...gmnArgs, '-o', 'json', 'Hello'], url, check: isJson });
  }
  const isScripted = (out) => out.trim() === 'from a script';
  await add(`gemini-cli ${geminiVersion}`, 'api key', 'recording, replayed by itself', {
    args: official(MODEL, '--fake-responses', script, '-p', 'Hello'),
    url: demo.url,
    check: isScripted,
  });
  await add(`gemini-cli ${geminiVersion}`, 'api key', 'recording, replayed by gmn demo serve --script', {
    args: official(MODEL, '-p', 'Hello'),
    url: replay.url,
    check: isScripted,
  });
  const seen = new Set(demo.requests.map((line) => line.split(' ')[1]));
  const methods = ['loadCodeAssist', 'retrieveUserQuota', 'listExperiments', 'streamGenerateContent'];
  const missing = methods.filter((method) => !seen.has(`/v1internal:${method}`));
  const detail = missing.length === 0 ? '' : `not seen: ${missing.join(', ')}`;
  const refused = demo.requests.filter((line) => !line.endsWith(' 200'));
  const ok = missing.length === 0 && refused.length === 0;
  table.push({
    client: 'demo',
    mode: 'both',
    what: 'every request answered with 200',
    ok,
    detail: detail || refused.join('; '),
  });
  return table;
}

async function outcome(args, env, check) {
  const { exitCode, out, errors } = await runNode(args, { cwd: work, env });
  const ok = exitCode === 0 && passes(check, out);
  return { ok, exitCode, detail: ok ? '' : `${out}\n${errors}`.trim().slice(-600) };
}

function passes(check, out) {
  try {
    return check(out) === true;
  } catch {
    return false;
  }
}

function isText(out) {
  return out.trim() === HELLO;
}

function isJson(out) {
  return JSON.parse(out).response === HELLO;
}

function isOfficialStream(out) {
  const events = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const said = events.filter((event) => event.type === 'message' && event.role === 'assistant');
  const last = events.at(-1);
  return said.map((event) => event.content).join('') === HELLO && last.type === 'result' && last.status === 'success';
}

function report(table, record) {
  const width = (key) => Math.max(...table.map((row) => String(row[key]).length));
  for (const row of table) {
    const cells = ['client', 'mode', 'what'].map((key) => row[key].padEnd(width(key)));
    console.log(`${row.ok ? 'ok  ' : row.isOpen ? 'open' : 'FAIL'}  ${cells.join('  ')}`);
    if (!row.ok) console.log(`      ${row.detail.replaceAll('\n', '\n      ')}`);
  }
  const date = new Date().toISOString().slice(0, 10);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const result = {
    date,
    gmn: version,
    node: process.version,
    system: `${process.platform} ${process.arch}`,
    rows: table,
    wire: record,
  };
  const directory = join(root, 'docs', 'dev', 'results');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `interop-${date}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
}
