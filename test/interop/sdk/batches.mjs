import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSdk } from './client.mjs';

const MODEL = 'gemini-3.8-flash';

/** The batches of Google's SDK against the offline model: rows for the report. */
export async function batchRows({ cache, version, url }) {
  const ai = await openSdk({ cache, url });
  const scratch = mkdtempSync(join(tmpdir(), 'gmn-interop-batches-'));
  const rows = [];
  const check = async (what, work) => {
    const row = { client: `@google/genai ${version}`, mode: 'api key', what };
    try {
      const problem = await work();
      rows.push({ ...row, ok: problem === undefined, detail: problem ?? '' });
    } catch (thrown) {
      rows.push({ ...row, ok: false, detail: String(thrown).slice(0, 600) });
    }
  };
  try {
    await check('batches.create with requests, get', () => runInline(ai));
    await check('batches.create from a file, files.download', () => runFile(ai, scratch));
    await check('batches.list, in pages', () => listAll(ai));
    await check('batches.cancel, batches.delete', () => cancelAndDelete(ai));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return rows;
}

const contents = (text) => [{ role: 'user', parts: [{ text }] }];

/** The service may take a day; the offline model is done with the second look. */
async function finish(ai, name) {
  for (let looks = 0; looks < 5; looks += 1) {
    const job = await ai.batches.get({ name });
    if (job.state === 'JOB_STATE_SUCCEEDED') return job;
  }
  throw new Error(`${name} does not end`);
}

async function runInline(ai) {
  const src = ['one', 'two'].map((text) => ({ contents: contents(text) }));
  const created = await ai.batches.create({ model: MODEL, src, config: { displayName: 'inline' } });
  if (created.state !== 'JOB_STATE_PENDING') return `state: ${created.state}`;
  if (created.displayName !== 'inline') return `display name: ${created.displayName}`;
  const { dest, endTime } = await finish(ai, created.name);
  const texts = dest.inlinedResponses.map(({ response }) => response.candidates[0].content.parts[0].text);
  if (endTime === undefined) return 'no end time';
  return texts.join() === 'demo: one,demo: two' ? undefined : `texts: ${texts.join()}`;
}

async function runFile(ai, scratch) {
  const path = join(scratch, 'in.jsonl');
  const lines = ['one', 'two'].map((text) => JSON.stringify({ key: text, request: { contents: contents(text) } }));
  writeFileSync(path, `${lines.join('\n')}\n`);
  const file = await ai.files.upload({ file: path, config: { mimeType: 'application/jsonl' } });
  const config = { displayName: 'from a file' };
  const created = await ai.batches.create({ model: MODEL, src: { fileName: file.name }, config });
  const { dest } = await finish(ai, created.name);
  const downloadPath = join(scratch, 'out.jsonl');
  await ai.files.download({ file: dest.fileName, downloadPath });
  // The SDK does not wait until the file is written.
  for (let waits = 0; waits < 100 && readSize(downloadPath) === 0; waits += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const results = readFileSync(downloadPath, 'utf8').trimEnd().split('\n');
  const keys = results.map((line) => JSON.parse(line)).map(({ key, response }) => response && key);
  return keys.join() === 'one,two' ? undefined : `keys: ${keys.join()}`;
}

function readSize(path) {
  try {
    return readFileSync(path).length;
  } catch {
    return 0;
  }
}

async function listAll(ai) {
  const names = [];
  for await (const { displayName } of await ai.batches.list({ config: { pageSize: 1 } })) names.push(displayName);
  return names.join() === 'from a file,inline' ? undefined : `listed: ${names.join()}`;
}

async function cancelAndDelete(ai) {
  const src = [{ contents: contents('never') }];
  const { name } = await ai.batches.create({ model: MODEL, src, config: { displayName: 'cancelled' } });
  await ai.batches.cancel({ name });
  const { state } = await ai.batches.get({ name });
  if (state !== 'JOB_STATE_CANCELLED') return `state: ${state}`;
  await ai.batches.delete({ name });
  const gone = await ai.batches.get({ name }).then(
    () => false,
    ({ status }) => status === 404,
  );
  return gone ? undefined : 'it can still be read';
}
