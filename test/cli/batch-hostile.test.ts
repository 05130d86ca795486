import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { callGmnIn, place } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const KEY = 'test-key-0123456789';
const RUN = ['batch', 'in.jsonl', '--output-file', 'out.jsonl'];
const API = [...RUN, '--engine', 'api'];

const MINE = { '000001.jsonl': 'mine\n', 'a.jsonl': 'mine\n', 'notes.md': 'mine\n' };

/** A folder with an input, a home with files that must stay, and a service that is looked over the shoulder. */
async function openFolder(t: TestContext, rows = '"a"\n') {
  const requests: string[] = [];
  let onCreation = (): void => {};
  const server = await startDemo({
    clock: systemClock,
    faults: parseFaults(['batch-polls=1']),
    onRequest({ method, path }) {
      requests.push(`${method} ${path}`);
      if (path.endsWith(':batchGenerateContent')) onCreation();
    },
  });
  t.onTestFinished(() => server.close());
  const home = Object.fromEntries(Object.entries(MINE).map(([name, text]) => [`keep/${name}`, text]));
  const setting = place(t, { gemini: server, files: { 'in.jsonl': rows }, home });
  return {
    kept: join(setting.home, 'keep'),
    at: (name: string) => join(setting.cwd, name),
    gmn: (words: readonly string[]) => callGmnIn(t, setting, words),
    countSent: () => requests.filter((request) => request.startsWith('POST')).length,
    onCreation: (work: () => void) => {
      onCreation = work;
    },
  };
}

function readAll(directory: string): Readonly<Record<string, string>> {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

posixTest.for([
  ['the output, with the local engine', '', 'a.jsonl', RUN],
  ['the plan of the jobs', '.batch', '', API],
  ['the failed rows', '.failed.jsonl', 'a.jsonl', RUN],
] as const)('a link in place of a file of the run leads nowhere: %s', async ([, ending, target, words], t) => {
  const folder = await openFolder(t);
  symlinkSync(join(folder.kept, target), folder.at(`out.jsonl${ending}`));
  const { exitCode, stderr } = await folder.gmn(words);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /is a link.*\n(?:Name that place itself, or remove the link|Remove the link, or use another --output-file)/,
  );
  expect(readAll(folder.kept)).toEqual(MINE);
  expect(folder.countSent()).toBe(0);
});

test('a directory that gmn did not make keeps its files, whatever runs beside it', async (t) => {
  const folder = await openFolder(t);
  cpSync(folder.kept, folder.at('out.jsonl.batch'), { recursive: true });
  for (const words of [API, RUN]) {
    const { exitCode, stderr } = await folder.gmn(words);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/out\.jsonl\.batch is not a directory that gmn has made.*\n.*another --output-file/);
  }
  expect(readAll(folder.at('out.jsonl.batch'))).toEqual(MINE);
  expect(folder.countSent()).toBe(0);
});

test.for([
  ['a line of the output', '', '{"id":"\\x","index":0,"ok":true}\n', 1],
  ['a line of the failed rows', '.failed.jsonl', '{"id":"\\x"\n[[\n\n\u0000\n{"id":7}\n', 0],
] as const)('what gmn has not written beside an output is no crash: %s', async ([, ending, text, code], t) => {
  const folder = await openFolder(t);
  await folder.gmn(RUN);
  writeFileSync(folder.at(`out.jsonl${ending}`), text);
  const { exitCode, stderr } = await folder.gmn(RUN);
  expect(stderr).not.toContain('a bug');
  expect(exitCode).toBe(code);
});

test("a row that holds gmn's own key is asked through the Batch API without it, and no file keeps it", async (t) => {
  const rows = [
    `{"id":"a","prompt":"my key is ${KEY}"}`,
    `{"id":"b","prompt":"hi","note":"${KEY}"}`,
    `{"id":"c","prompt":"${KEY}","files":["none"]}`,
    KEY,
  ];
  const folder = await openFolder(t, `${rows.join('\n')}\n`);
  let inFlight: Readonly<Record<string, string>> = {};
  folder.onCreation(() => {
    inFlight = readAll(folder.at('out.jsonl.batch'));
  });
  const { exitCode, stderr } = await folder.gmn(API);
  expect(exitCode).toBe(3);
  expect(stderr).toContain("gmn's own credentials were in it");
  expect(inFlight['000001.jsonl']).toContain('my key is ‹redacted›');
  expect(inFlight['000001.rows.jsonl']).toContain('‹redacted›');
  const failed = rows.slice(2).map((row) => `${row.replace(KEY, '‹redacted›')}\n`);
  expect(readFileSync(folder.at('out.jsonl.failed.jsonl'), 'utf8')).toBe(failed.join(''));
  expect(Object.values(inFlight).join('') + readFileSync(folder.at('out.jsonl'), 'utf8')).not.toContain(KEY);
  expect(existsSync(folder.at('out.jsonl.batch'))).toBe(false);
  await folder.gmn(RUN);
  expect(readFileSync(folder.at('out.jsonl.failed.jsonl'), 'utf8')).toBe(failed.join(''));
});
