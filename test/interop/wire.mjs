import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnv, runNode } from './processes.mjs';
import { MODEL, startRecorder } from './recorder.mjs';

const MODES = {
  'gemini-api-key': (url) => ({ GEMINI_API_KEY: 'a-test-key', GOOGLE_GEMINI_BASE_URL: url }),
  'oauth-personal': (url) => ({
    GOOGLE_GENAI_USE_GCA: 'true',
    GOOGLE_CLOUD_ACCESS_TOKEN: 'a-test-token',
    GOOGLE_CLOUD_PROJECT: 'my-project',
    CODE_ASSIST_ENDPOINT: url,
  }),
};
const STREAM = { 'gemini-api-key': `/v1beta/models/${MODEL}:`, 'oauth-personal': '/v1internal:' };
const SECRET = { 'gemini-api-key': 'x-goog-api-key', 'oauth-personal': 'authorization' };

/**
 * Sends the same prompt with the official CLI, with gmn, and with gmn once more, and compares request by request.
 * Gives rows for the report and `record`: every request, ids and long texts left out.
 */
export async function compareWire({ gemini, gmn, scratch, preload }) {
  const ours = [gmn, '-m', MODEL, 'Hello'];
  const clients = {
    official: { args: [gemini, '-m', MODEL, '--skip-trust', '-p', 'Hello'], more: { NODE_OPTIONS: preload } },
    'gmn, first run': { args: ours, more: {} },
    'gmn, later runs': { args: ours, more: {} },
  };
  const rows = [];
  const record = [];
  for (const [mode, environment] of Object.entries(MODES)) {
    const recorder = await startRecorder();
    const asked = {};
    for (const [client, { args, more }] of Object.entries(clients)) {
      const home = join(scratch, `wire-${mode}-${client.slice(0, 3)}`);
      mkdirSync(join(home, '.gemini'), { recursive: true });
      const settings = { security: { auth: { selectedType: mode } } };
      writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
      recorder.seen.length = 0;
      const env = cleanEnv(home, { ...environment(recorder.url), ...more });
      const { exitCode } = await runNode(args, { cwd: home, env });
      asked[client] = [...recorder.seen];
      record.push({ mode, client, exitCode, requests: recorder.seen.map(shown) });
    }
    recorder.close();
    rows.push(...comparison(mode, asked));
  }
  return { rows, record };
}

function comparison(mode, { official, 'gmn, first run': first, 'gmn, later runs': later }) {
  const isModelCall = ({ path }) => path.includes('streamGenerateContent');
  const [theirs, ours] = [official.find(isModelCall), later.find(isModelCall)];
  const row = (what, found, wanted) => {
    const ok = JSON.stringify(found) === JSON.stringify(wanted);
    const detail = ok ? '' : `${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`;
    return { client: 'gmn beside gemini-cli', mode, what, ok, detail };
  };
  const isAssist = mode === 'oauth-personal';
  const rows = [
    row('requests of a first run', first.length, isAssist ? 2 : 1),
    row('requests of a later run', later.length, 1),
    row('the same address', ours?.path, theirs?.path),
    row('it is the documented one', ours?.path, `${STREAM[mode]}streamGenerateContent?alt=sse`),
    row('the credential in the same header', ours?.headers[SECRET[mode]], theirs?.headers[SECRET[mode]]),
    row('no key in the body that the official CLI has not', strangeKeys(ours, theirs, isAssist), []),
    row('the prompt in the same place', lastText(ours, isAssist), lastText(theirs, isAssist)),
  ];
  if (!isAssist) return rows;
  const load = (requests) => requests.find(({ path }) => path.includes('loadCodeAssist'));
  const envelope = ({ body }) => Object.keys(JSON.parse(body)).sort();
  return [
    ...rows,
    row('loadCodeAssist, value by value', parsed(load(first)), parsed(load(official))),
    row('the envelope’s keys', envelope(ours), envelope(theirs)),
    row('the project it was told', parsed(ours).project, parsed(theirs).project),
    row('user_prompt_id equals session_id', parsed(ours).user_prompt_id, parsed(ours).request.session_id),
  ];
}

function parsed(request) {
  return request === undefined ? undefined : JSON.parse(request.body);
}

function modelRequest(request, isAssist) {
  const body = parsed(request);
  return isAssist ? body?.request : body;
}

function strangeKeys(ours, theirs, isAssist) {
  const known = Object.keys(modelRequest(theirs, isAssist) ?? {});
  return Object.keys(modelRequest(ours, isAssist) ?? {}).filter((key) => !known.includes(key));
}

function lastText(request, isAssist) {
  return modelRequest(request, isAssist)?.contents.at(-1)?.parts.at(-1)?.text;
}

/** The shape and every short value; ids and the official CLI's own prompts and tools are left out. */
function shown({ method, path, headers: { host: _host, 'content-length': _length, ...headers }, body }) {
  const kept = Object.entries(headers).map(([name, value]) => [name, withoutIds(String(value))]);
  return { request: `${method} ${path}`, headers: Object.fromEntries(kept), body: cut(JSON.parse(body || 'null')) };
}

function cut(value) {
  if (typeof value === 'string') return value.length > 60 ? `<${value.length} characters>` : withoutIds(value);
  if (Array.isArray(value)) return value.length > 2 ? [cut(value[0]), `<${value.length - 1} more>`] : value.map(cut);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([key, each]) => [key, key === 'parametersJsonSchema' ? '<schema>' : cut(each)]),
  );
}

function withoutIds(text) {
  return text.replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '<uuid>');
}
