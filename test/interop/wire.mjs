// `node test/interop/wire.mjs <gemini.js>`: records what the official CLI and gmn send for the same prompt, side by side,
// against a server on the loopback, and writes docs/results/wire-<date>.json. docs/compat.md quotes it.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const gemini = process.argv[2];
if (gemini === undefined) {
  console.log('skipped: name the gemini.js of an installed @google/gemini-cli');
  process.exit(1);
}
const RUN_LIMIT_MS = 90_000;
const MODEL = 'gemini-2.5-flash';
const CLIENTS = {
  'official CLI': [gemini, '-m', MODEL, '--skip-trust', '-p', 'Hello'],
  'gmn, first run': [join(root, 'bin', 'gmn.js'), '-m', MODEL, 'Hello'],
  'gmn, later runs': [join(root, 'bin', 'gmn.js'), '-m', MODEL, 'Hello'],
};
const MODES = {
  'gemini-api-key': (url) => ({ GEMINI_API_KEY: 'a-test-key', GOOGLE_GEMINI_BASE_URL: url }),
  'oauth-personal': (url) => ({
    GOOGLE_GENAI_USE_GCA: 'true',
    GOOGLE_CLOUD_ACCESS_TOKEN: 'a-test-token',
    GOOGLE_CLOUD_PROJECT: 'my-project',
    CODE_ASSIST_ENDPOINT: url,
  }),
};

const seen = [];
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  seen.push({ request: `${request.method} ${request.url}`, headers: shownHeaders(request.headers), body: shown(text) });
  const isStream = request.url.includes('streamGenerateContent');
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  response.end(
    isStream ? `data: ${JSON.stringify(answer(request.url))}\r\n\r\n` : JSON.stringify(account(request.url)),
  );
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${server.address().port}`;
const scratch = mkdtempSync(join(tmpdir(), 'gmn-wire-'));
const rows = [];
try {
  for (const [mode, environment] of Object.entries(MODES)) {
    for (const [client, args] of Object.entries(CLIENTS)) {
      const home = join(scratch, `${mode}-${client.slice(0, 3)}`);
      mkdirSync(join(home, '.gemini'), { recursive: true });
      const settings = { security: { auth: { selectedType: mode } } };
      writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
      seen.length = 0;
      const exitCode = await run(args, { PATH: process.env.PATH, HOME: home, ...environment(url) }, home);
      rows.push({ mode, client, exitCode, requests: [...seen] });
      console.log(`${mode}  ${client}  exit ${exitCode}  ${seen.map(({ request }) => request).join(', ')}`);
    }
  }
} finally {
  server.closeAllConnections();
  server.close();
  rmSync(scratch, { recursive: true, force: true });
}
const date = new Date().toISOString().slice(0, 10);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const record = { date, gmn: version, node: process.version, system: `${process.platform} ${process.arch}`, rows };
mkdirSync(join(root, 'docs', 'results'), { recursive: true });
writeFileSync(join(root, 'docs', 'results', `wire-${date}.json`), `${JSON.stringify(record, undefined, 2)}\n`);
process.exitCode = rows.every(({ exitCode }) => exitCode === 0) ? 0 : 1;

function answer(path) {
  const candidates = [{ content: { role: 'model', parts: [{ text: 'Hello!' }] }, finishReason: 'STOP' }];
  const response = { candidates, modelVersion: MODEL };
  return path.startsWith('/v1internal') ? { response, traceId: 'trace-1' } : response;
}

function account(path) {
  if (!path.includes('loadCodeAssist')) return {};
  return { currentTier: { id: 'standard-tier' }, cloudaicompanionProject: 'companion-project' };
}

function shownHeaders({ host: _host, 'content-length': _length, ...headers }) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, withoutIds(String(value))]));
}

/** The shape and every short value; ids and the official CLI's own prompts and tools are left out. */
function shown(text) {
  const cut = (value) => {
    if (typeof value === 'string') return value.length > 60 ? `<${value.length} characters>` : withoutIds(value);
    if (Array.isArray(value)) return value.length > 2 ? [cut(value[0]), `<${value.length - 1} more>`] : value.map(cut);
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value);
    return Object.fromEntries(
      entries.map(([key, each]) => [key, key === 'parametersJsonSchema' ? '<schema>' : cut(each)]),
    );
  };
  try {
    return cut(JSON.parse(text));
  } catch {
    return text.slice(0, 60);
  }
}

function withoutIds(text) {
  return text.replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '<uuid>');
}

function run(args, env, home) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: home, env, stdio: 'ignore' });
    const timer = setTimeout(() => child.kill('SIGKILL'), RUN_LIMIT_MS);
    child.on('close', (exitCode) => {
      clearTimeout(timer);
      resolve(exitCode);
    });
  });
}
