import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import type { ServedRequest } from '../../src/platform/http/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { callGmnIn, gmnCommand, place, runGmnIn } from '../support/gmn.ts';
import { systemMode } from '../support/posix.ts';
import { runInTerminal } from '../support/pty.ts';

const MB = 1_000_000;

/** A film, as far as its first bytes tell. */
function film(size: number, seed = 0): Buffer {
  const bytes = Buffer.alloc(size, `frame ${seed}\0`);
  bytes.write('\0\0\0\x20ftypisom', 0, 'latin1');
  return bytes;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function scene(
  t: TestContext,
  { files = {}, faults }: { readonly files?: Record<string, string | Uint8Array>; readonly faults?: string } = {},
) {
  const commands: string[] = [];
  const bodies: string[] = [];
  const listeners: ((request: ServedRequest) => void)[] = [];
  let earlierMs = 0;
  const demo = await startDemo({
    clock: { ...systemClock, now: () => systemClock.now() - earlierMs },
    ...(faults === undefined ? {} : { faults: parseFaults([faults]) }),
    onRequest(request) {
      const { 'x-goog-upload-command': command } = request.headers;
      commands.push(command ?? `${request.method} ${request.path.replace(/^.*\/(files|models)\b.*/, '$1')}`);
      if (request.path.includes('GenerateContent')) bodies.push(request.body);
      for (const listener of listeners) listener(request);
    },
  });
  t.onTestFinished(() => demo.close());
  const here = place(t, { gemini: demo, files });
  const env = { ...here.env, GEMINI_API_KEY: 'test-key-0123456789' };
  const remote = async (path = '', method = 'GET') => {
    const init = { method, headers: { 'x-goog-api-key': env.GEMINI_API_KEY } };
    return (await fetch(`${demo.url}/v1beta/files${path}`, init)).json() as Promise<Record<string, unknown>>;
  };
  return {
    ...here,
    env,
    demo,
    remote,
    bodies,
    listeners,
    /** What is uploaded next is so old already. */
    age: (hours: number) => {
      earlierMs = hours * 3_600_000;
    },
    gmn: (...args: readonly string[]) => callGmnIn(t, { ...here, env }, args),
    pipe: (stdin: string | Uint8Array, ...args: readonly string[]) => callGmnIn(t, { ...here, env }, args, stdin),
    /** The commands of uploads since the last call. */
    takeUploads: () => commands.splice(0).filter((command) => /^(start|upload|query)/.test(command)),
    ledger: () => {
      const root = join(here.home, '.gmn', 'uploads');
      return readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.json'))
        .map((name) => join(root, name));
    },
  };
}

test('25 MB arrive whole though the line is cut six times; the second time nothing is uploaded', async (t) => {
  const talk = film(25 * MB);
  const here = await scene(t, { files: { 'talk.mp4': talk }, faults: 'upload-cut=3000000x6' });
  const first = await here.gmn('-f', 'talk.mp4', 'what is it?', '--debug');
  expect(first.stdout).toBe('demo: I see 1 video (video/mp4, talk.mp4, 25.0 MB): what is it?\n');
  expect(first.stderr).toContain('uploaded talk.mp4: Google keeps it for 48 hours');
  const uploads = here.takeUploads();
  expect(uploads.filter((command) => command === 'query')).toHaveLength(6);
  expect(uploads.filter((command) => command === 'start')).toHaveLength(1);
  const file = await here.remote(`/gmn-${hashOf(talk).slice(0, 36)}`);
  expect(Buffer.from(String(file.sha256Hash), 'base64').toString()).toBe(hashOf(talk));
  const [entry = ''] = here.ledger();
  expect(statSync(entry).mode & 0o777).toBe(systemMode(0o600));
  const second = await here.gmn('-f', 'talk.mp4', 'and now?', '-o', 'json');
  expect(JSON.parse(second.stdout)).toMatchObject({ response: expect.stringContaining('talk.mp4, 25.0 MB') });
  expect(JSON.parse(second.stdout)).not.toHaveProperty('warnings');
  expect(here.takeUploads()).toEqual([]);
  expect(first.stderr).not.toMatch(/upload_id|test-key/);
});

test('after kill -9 a new run goes on where the first stopped', async (t) => {
  const talk = film(25 * MB);
  const here = await scene(t, { files: { 'talk.mp4': talk } });
  const [file, args] = gmnCommand(['-f', 'talk.mp4', 'what?']);
  const child = spawn(file, args, { cwd: here.cwd, env: here.env, stdio: 'ignore' });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  let chunks = 0;
  here.listeners.push(({ headers }) => {
    if (headers['x-goog-upload-command'] === 'upload') chunks += 1;
    if (chunks === 2) child.kill('SIGKILL');
  });
  await once(child, 'close');
  here.listeners.length = 0;
  const [entry = ''] = here.ledger();
  expect(readFileSync(entry, 'utf8')).toContain('upload_id');
  here.takeUploads();
  const again = await here.gmn('-f', 'talk.mp4', 'what?');
  expect(again.stdout).toContain('talk.mp4, 25.0 MB');
  const [first, ...rest] = here.takeUploads();
  expect(first).toBe('query');
  expect(rest).not.toContain('start');
  expect(readFileSync(entry, 'utf8')).not.toContain('upload_id');
});

test('a session has the file: it is uploaded again when it is gone, from an unchanged file only', async (t) => {
  const talk = film(21 * MB);
  const here = await scene(t, { files: { 'talk.mp4': talk } });
  const id = `gmn-${hashOf(talk).slice(0, 36)}`;
  await here.gmn('-f', 'talk.mp4', 'one');
  here.takeUploads();
  expect((await here.gmn('-c', 'two')).exitCode).toBe(0);
  expect(here.takeUploads()).toEqual([]);
  const { contents } = JSON.parse(here.bodies.at(-1) ?? '');
  expect(contents[0].parts[0]).toEqual({
    fileData: { mimeType: 'video/mp4', fileUri: `${here.demo.url}/v1beta/files/${id}` },
  });
  await here.remote(`/${id}`, 'DELETE');
  expect((await here.gmn('-c', 'three')).exitCode).toBe(0);
  expect(here.takeUploads()).toContain('upload, finalize');
  // Somebody else's account has no such file.
  const other = { ...here, env: { ...here.env, GEMINI_API_KEY: 'other-key-0123456789' } };
  expect((await callGmnIn(t, other, ['-c', 'four'])).exitCode).toBe(0);
  expect(here.takeUploads()).toContain('upload, finalize');
  await here.remote(`/${id}`, 'DELETE');
  const changed = Buffer.from(talk);
  changed[MB] = 1;
  writeFileSync(join(here.cwd, 'talk.mp4'), changed);
  const refused = await here.gmn('-c', 'five');
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/talk\.mp4 is not the file that it was/),
  ]);
  unlinkSync(join(here.cwd, 'talk.mp4'));
  const gone = await here.gmn('-c', 'six', '-o', 'json');
  expect(JSON.parse(gone.stdout).error).toMatchObject({
    code: 1,
    message: expect.stringMatching(/talk\.mp4 is needed again, and cannot be read/),
    suggestion: expect.stringMatching(/Put the file back/),
  });
  expect(here.takeUploads()).toEqual([]);
});

test('text is uploaded, too; --dry-run uploads nothing, --count-tokens does', async (t) => {
  const here = await scene(t, { files: { 'logs/a.log': 'a line\n'.repeat(3 * MB), 'logs/c.txt': 'small\n' } });
  const dry = await here.gmn('--dry-run', '-f', 'logs', 'why?');
  expect(dry.stderr).toContain('would be uploaded: logs/a.log (text/plain, 21.0 MB)');
  expect(JSON.parse(dry.stdout).body.contents[0].parts).toEqual([
    { fileData: { mimeType: 'text/plain', fileUri: expect.stringMatching(/^file:\/\/.*\/logs\/a\.log$/) } },
    { text: '=== logs/c.txt ===\nsmall\n\n\nwhy?' },
  ]);
  expect(here.takeUploads()).toEqual([]);
  expect((await here.gmn('--count-tokens', '-f', 'logs', 'why?')).stdout).toMatch(/^\d+\n$/);
  expect(here.takeUploads()).toEqual(['start', 'upload', 'upload', 'upload, finalize']);
});

test('large media and text on stdin are uploaded, and no temporary file is left', async (t) => {
  const here = await scene(t);
  // Programs: the end of a process is what removes the file.
  const run = await runGmnIn(t, here, ['what is it?'], film(22 * MB));
  expect(run.stdout).toBe('demo: I see 1 video (video/mp4, stdin, 22.0 MB): what is it?\n');
  // It would fit, but not as base64.
  expect((await runGmnIn(t, here, ['what?'], film(18 * MB))).stdout).toContain('(video/mp4, stdin, 18.0 MB)');
  expect(readdirSync(here.root).sort()).toEqual(['home', 'work']);
});

test('a chat uploads what /file and @ name', async (t) => {
  const here = await scene(t, { files: { 'a.mp4': film(21 * MB, 1), 'b.mp4': film(21 * MB, 2) } });
  const chat = await here.pipe('/file a.mp4\nwhat is it?\nand @b.mp4\nthanks\n', 'chat');
  expect(chat.stdout).toMatch(
    /1 video \(video\/mp4, a\.mp4, 21\.0 MB\)[\s\S]*1 video \(video\/mp4, b\.mp4, 21\.0 MB\)/,
  );
  expect(here.takeUploads().filter((command) => command === 'start')).toHaveLength(2);
});

test('a file that is deleted during a chat is uploaded again', async (t) => {
  const talk = film(21 * MB);
  const here = await scene(t, { files: { 'talk.mp4': talk } });
  const [file, args] = gmnCommand(['chat']);
  const child = spawn(file, args, { cwd: here.cwd, env: here.env });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.setEncoding('utf8');
  child.stdin.write('look at @talk.mp4\n');
  for await (const text of child.stdout.iterator({ destroyOnReturn: false })) {
    out += text;
    if (out.includes('\n')) break;
  }
  await here.remote(`/gmn-${hashOf(talk).slice(0, 36)}`, 'DELETE');
  here.takeUploads();
  child.stdin.end('and now?\n');
  for await (const text of child.stdout) out += text;
  expect(out).toContain('and now?');
  expect(here.takeUploads()).toContain('upload, finalize');
});

test('the rows of a batch may have large files; one for all rows is uploaded once', async (t) => {
  const rows = ['"one"', '"two"', '{"prompt":"three","files":["own.mp4"]}'];
  const here = await scene(t, {
    files: { 'talk.mp4': film(21 * MB, 1), 'own.mp4': film(21 * MB, 2), 'in.jsonl': rows.join('\n') },
  });
  const args = ['batch', 'in.jsonl', '-f', 'talk.mp4', '--output-file', 'out.jsonl'];
  const run = await here.gmn(...args);
  expect([run.exitCode, run.stderr]).toEqual([0, expect.stringContaining('uploaded talk.mp4: Google keeps it')]);
  const lines = readFileSync(join(here.cwd, 'out.jsonl'), 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).response).sort()).toEqual([
    'demo: I see 1 video (video/mp4, talk.mp4, 21.0 MB): one',
    'demo: I see 1 video (video/mp4, talk.mp4, 21.0 MB): two',
    expect.stringMatching(/^demo: I see 2 videos .*own\.mp4, 21\.0 MB\).*three$/s),
  ]);
  expect(here.takeUploads().filter((command) => command === 'start')).toHaveLength(2);
  expect((await here.gmn('batch', 'in.jsonl', '-f', 'talk.mp4', '--estimate')).stdout).toContain('3 rows');
  // Another content under the same name is another run.
  writeFileSync(join(here.cwd, 'talk.mp4'), film(21 * MB, 3));
  const changed = await here.gmn(...args);
  expect([changed.exitCode, changed.stderr]).toEqual([1, expect.stringContaining('the files of -f')]);
});

test('a job of the Batch API gets a file that lives long enough, and takes none from a job in flight', async (t) => {
  const here = await scene(t, { files: { 'talk.mp4': film(21 * MB), 'in.jsonl': '"what is said?"' } });
  const estimate = await here.gmn('batch', 'in.jsonl', '-f', 'talk.mp4', '--estimate');
  expect(estimate.stderr).toContain('uploaded talk.mp4: Google keeps it');
  await here.gmn('files', 'delete', '--all', '--yes');
  here.age(24);
  await here.gmn('-f', 'talk.mp4', 'hi');
  here.age(0);
  here.takeUploads();
  const batch = (output: string) =>
    here.gmn('batch', 'in.jsonl', '-f', 'talk.mp4', '--engine', 'api', '--output-file', output);
  const first = await batch('a.jsonl');
  expect([first.exitCode, first.stderr]).toEqual([0, expect.stringContaining('uploaded talk.mp4')]);
  expect(here.takeUploads()).toContain('upload, finalize');
  expect((await here.remote()).files).toMatchObject([{}, { name: `files/gmn-${hashOf(film(21 * MB)).slice(0, 36)}` }]);
  expect((await batch('b.jsonl')).exitCode).toBe(0);
  expect((await here.gmn('-f', 'talk.mp4', 'hi')).exitCode).toBe(0);
  const sent = here.takeUploads().filter((command) => command.startsWith('start'));
  // The rows of the second batch.
  expect(sent).toHaveLength(1);
});

test('two at once upload it once', async (t) => {
  const here = await scene(t, { files: { 'talk.mp4': film(21 * MB) } });
  const both = await Promise.all(['one', 'two'].map((word) => runGmnIn(t, here, ['-f', 'talk.mp4', word])));
  expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect(here.takeUploads().filter((command) => command.includes('finalize'))).toHaveLength(1);
});

test.for([
  ['file-failed', 3, /could not process talk\.mp4/],
  ['file-processing=3', 0, /uploaded talk\.mp4/],
  ['upload-ids', 0, /uploaded talk\.mp4/],
] as const)('--fault %s ends with %d', async ([faults, code, message], t) => {
  const here = await scene(t, { files: { 'talk.mp4': film(21 * MB) }, faults });
  const run = await here.gmn('-f', 'talk.mp4', 'what?');
  expect([run.exitCode, run.stderr]).toEqual([code, expect.stringMatching(message)]);
  if (faults !== 'upload-ids') return;
  // The service's own id is remembered.
  here.takeUploads();
  expect((await here.gmn('-f', 'talk.mp4', 'what?')).exitCode).toBe(0);
  expect(here.takeUploads()).toEqual([]);
});

test('without a place for the ledger it works as well', async (t) => {
  const here = await scene(t, { files: { 'talk.mp4': film(21 * MB) }, faults: 'upload-cut=1000000x1' });
  mkdirSync(join(here.home, '.gmn'), { recursive: true });
  writeFileSync(join(here.home, '.gmn', 'uploads'), 'in the way');
  expect((await here.gmn('-f', 'talk.mp4', 'what?')).exitCode).toBe(0);
});

test('what cannot be uploaded is refused before any request', async (t) => {
  const binary = Buffer.alloc(21 * MB, '\x7fELF\0');
  const wide = Buffer.alloc(21 * MB, '\xff\xfea\0', 'latin1');
  const here = await scene(t, { files: { 'huge.mp4': film(100), 'a.bin': binary, 'wide.txt': wide } });
  truncateSync(join(here.cwd, 'huge.mp4'), 3 * 1024 ** 3);
  // Across the border of two chunks.
  const leak = Buffer.alloc(21 * MB, 'line\n');
  leak.write(here.env.GEMINI_API_KEY, 8 * 1024 * 1024 - 5);
  writeFileSync(join(here.cwd, 'leak.log'), leak);
  for (const [name, message] of [
    ['huge.mp4', /huge\.mp4 is 3\.2 GB; the service takes files of at most 2 GB/],
    ['a.bin', /a\.bin is neither text nor media that can be sent/],
    ['wide.txt', /wide\.txt is UTF-16, which cannot be uploaded/],
    ['gs://bucket/a.mp4', /only Vertex AI reads gs:\/\/ addresses/],
  ] as const) {
    const run = await here.gmn('-f', name, 'what?');
    expect([run.exitCode, run.stderr]).toEqual([1, expect.stringMatching(message)]);
  }
  expect(here.takeUploads()).toEqual([]);
  const leaking = await here.gmn('-f', 'leak.log', 'what?');
  expect([leaking.exitCode, leaking.stderr]).toEqual([
    1,
    expect.stringMatching(/leak\.log has a credential of gmn in it/),
  ]);
  expect(here.takeUploads()).not.toContain('upload, finalize');
});

test('Vertex AI takes gs:// addresses, and no files of this size', async (t) => {
  const here = await scene(t, { files: { 'talk.mp4': film(21 * MB) } });
  const env = { ...here.env, GOOGLE_API_KEY: 'vertex-key-0123456', GOOGLE_VERTEX_BASE_URL: here.demo.url };
  const run = (...args: readonly string[]) => callGmnIn(t, { ...here, env }, ['--auth', 'vertex-ai', ...args]);
  const asked = await run(
    '--dry-run',
    '-f',
    'gs://bucket/a/talk.mp4',
    '-a',
    'gs://bucket/x',
    '--mime-type',
    'audio/mp3',
  );
  expect(JSON.parse(asked.stdout).body.contents[0].parts.slice(1, 4)).toEqual([
    { fileData: { mimeType: 'video/mp4', fileUri: 'gs://bucket/a/talk.mp4' } },
    { text: '=== gs://bucket/x ===' },
    { fileData: { mimeType: 'audio/mp3', fileUri: 'gs://bucket/x' } },
  ]);
  const refused = await run('-f', 'talk.mp4', 'what?');
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/at most 20 MB[\s\S]*gs:\/\/<bucket>/)]);
  const listed = await callGmnIn(t, { ...here, env }, ['files', 'list', '--auth', 'vertex-ai']);
  expect([listed.exitCode, listed.stderr]).toEqual([
    2,
    expect.stringMatching(/Vertex AI keeps no files[\s\S]*set-key/),
  ]);
});

test('files list shows what is there, files delete removes it', async (t) => {
  const here = await scene(t, { files: { 'talk.mp4': film(21 * MB) } });
  const empty = await here.gmn('files', 'list');
  expect([empty.stdout, empty.stderr]).toEqual(['', 'gmn: the service keeps no files for this account\n']);
  await here.gmn('-f', 'talk.mp4', 'what?');
  const list = await here.gmn('files', 'list');
  expect(list.stdout).toMatch(
    /^NAME +FILE +TYPE +SIZE +STATE +EXPIRES\ngmn-\w{36} +talk\.mp4 +video\/mp4 +21\.0 MB +ACTIVE +in (?:48 h|47 h 59 min)\n$/,
  );
  const { files } = JSON.parse((await here.gmn('files', 'list', '--json')).stdout);
  expect(files).toEqual([expect.objectContaining({ bytes: 21 * MB, state: 'ACTIVE', mimeType: 'video/mp4' })]);
  expect((await here.gmn('files', 'delete', '--all')).stderr).toContain('this would delete 1 file of this account');
  const deleted = await here.gmn('files', 'delete', files[0].name, 'unknown');
  expect([deleted.exitCode, deleted.stdout]).toEqual([1, `deleted ${files[0].name}\n`]);
  expect(deleted.stderr).toContain('no such file: unknown');
  const all = await here.gmn('files', 'delete', '--all', '--yes', '--json');
  expect(JSON.parse(all.stdout)).toEqual({ deleted: [] });
});

test('on a terminal a bar shows how far it is', async (t) => {
  const here = await scene(t, { files: { 'talk.mp4': film(21 * MB) }, faults: 'upload-cut=3000000x1' });
  const at = { ...here, env: { ...here.env, GMN_RETRY_DELAY: '1s' } };
  const terminal = runInTerminal(t, ['-f', 'talk.mp4', 'what?'], { at, columns: 100 });
  await terminal.until(/the upload of talk\.mp4 [█░]{20} \d+ % of 21\.0 MB/);
  const { output, exitCode } = await terminal.ended;
  expect([exitCode, output]).toEqual([0, expect.stringContaining('uploaded talk.mp4: Google keeps it for 48 hours')]);
});
