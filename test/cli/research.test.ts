import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { parseFaults } from '../../src/demo/fault.ts';
import { startDemo } from '../../src/demo/server.ts';
import type { ServedRequest } from '../../src/platform/http/server.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { serve } from '../mcp/server/support.ts';
import { signInFile } from '../support/account.ts';
import {
  CUT,
  chunk,
  END,
  endless,
  failure,
  fakeGemini,
  json,
  reply,
  type Scripted,
  stream,
} from '../support/gemini.ts';
import { callGmn, callGmnIn, GMN_LINE, parseLines, place, runGmnIn, runShell, startGmn } from '../support/gmn.ts';
import { linuxTest, posixTest } from '../support/posix.ts';

const ASK = ['research', 'why is the sky blue?'];
const DOCUMENT = [...ASK, '-o', 'json'];
/** A first delay of a second would be one of the test. */
const FAST = { GMN_RETRY_DELAY: '2ms' };

/** A demo server, and a place that asks it; it sees what was asked. */
async function withDemo(
  t: TestContext,
  faults: readonly string[] = [],
  more: { readonly home?: Record<string, string> } = {},
) {
  const seen: ServedRequest[] = [];
  const onRequest = (request: ServedRequest): void => void seen.push(request);
  const times = faults.some((fault) => fault.startsWith('research-time')) ? [] : ['research-time=40ms'];
  const demo = await startDemo({ clock: systemClock, faults: parseFaults([...faults, ...times]), onRequest });
  t.onTestFinished(() => demo.close());
  const at = place(t, { gemini: demo, env: FAST, ...more });
  return {
    at,
    seen,
    creations: () => seen.filter(({ method, path }) => method === 'POST' && path.endsWith('/interactions')),
  };
}

test('the report has its sources, on stdout and in the file; the job has both', async (t) => {
  const { at, creations, seen } = await withDemo(t);
  const gmn = await callGmnIn(t, at, [...ASK, '--max', '--output-file', 'r.md']);
  expect(gmn.exitCode).toBe(0);
  expect(gmn.stdout).toMatch(/^# why is the sky blue\?\n/);
  expect(gmn.stdout).toContain(
    '\n\n## Sources\n\n1. [A first page (demo)](https://example.com/first)\n2. [A second page](https://example.com/second?a=1)\n',
  );
  expect(readFileSync(join(at.cwd, 'r.md'), 'utf8')).toBe(gmn.stdout);
  expect(gmn.stderr).toMatch(/gmn: research [\da-f-]{36} begins; Ctrl\+C leaves it running/);
  expect(gmn.stderr).toContain('the price of deep-research-max-preview-04-2026 is not known');
  expect(gmn.stderr).toContain('Reading what was found');
  expect(creations().map(({ body }) => JSON.parse(body))).toEqual([
    {
      agent: 'deep-research-max-preview-04-2026',
      input: 'why is the sky blue?',
      background: true,
      agent_config: { type: 'deep-research', thinking_summaries: 'auto', visualization: 'off' },
    },
  ]);
  expect(seen.some(({ headers }) => 'api-revision' in headers)).toBe(false);
  const list = JSON.parse((await callGmnIn(t, at, ['jobs', '--json'])).stdout);
  expect(list.jobs).toMatchObject([{ kind: 'research', status: 'completed', title: 'why is the sky blue?' }]);
  const shown = JSON.parse(
    (await callGmnIn(t, at, ['jobs', 'show', list.jobs[0].job_id.slice(0, 6), '--json'])).stdout,
  );
  expect(shown.output).toBe(gmn.stdout);
});

test('JSON has sources, usage, the job, and a cost where a price is set; the stream begins with the job', async (t) => {
  const home = { '.gmn/config.json': '{"prices":{"deep-research-*":{"input":2,"output":12}}}' };
  const { at } = await withDemo(t, [], { home });
  const document = JSON.parse((await callGmnIn(t, at, DOCUMENT)).stdout);
  expect(document).toMatchObject({
    model: 'deep-research-preview-04-2026',
    sources: [{ uri: 'https://example.com/first' }, { uri: 'https://example.com/second?a=1' }],
    usage: { promptTokenCount: 250_000, thoughtsTokenCount: 60_000 },
    finishReason: 'STOP',
  });
  expect(document.cost).toBeGreaterThan(1);
  const events = parseLines((await callGmnIn(t, at, [...ASK, '-o', 'stream-json'])).stdout);
  expect(events[0]).toMatchObject({ type: 'start', jobId: expect.any(String) });
  expect(events.at(-1)).toMatchObject({ type: 'done', jobId: events[0].jobId });
  expect(events[0].jobId).not.toBe(document.jobId);
  const usage = JSON.parse((await callGmnIn(t, at, ['usage', '--by', 'model', '--json'])).stdout);
  expect(usage.rows).toMatchObject([{ model: 'deep-research-preview-04-2026', runs: 2 }]);
});

test.for([
  ['research-failed', 'it failed: The agent failed.', 3],
  ['research-incomplete', 'it ended before it was complete', 3],
  ['research-budget', 'it used up its budget', 3],
  ['research-action', 'the agent waits for an action that gmn cannot take', 3],
  ['research-empty', 'it ended without a report', 3],
  ['research-lost', 'it cannot be known whether research', 3],
  ['429', 'quota', 3],
  ['401', 'authentication failed', 2],
  ['500', 'it cannot be known whether research', 3],
] as const)('--fault %s is an error that says so', async ([fault, message, exitCode], t) => {
  const { at, creations } = await withDemo(t, [fault]);
  const gmn = await callGmnIn(t, at, DOCUMENT);
  const { error } = JSON.parse(gmn.stdout);
  expect([gmn.exitCode, error.message]).toEqual([exitCode, expect.stringContaining(message)]);
  expect(error.suggestion).toMatch(/./);
  expect(creations()).toHaveLength(1);
  if (!message.startsWith('it cannot')) return;
  // Asked again it does not begin anew, until it is given up.
  expect(JSON.parse((await callGmnIn(t, at, DOCUMENT)).stdout).error.message).toContain(message);
  expect(creations()).toHaveLength(1);
  const [{ job_id: id }] = JSON.parse((await callGmnIn(t, at, ['jobs', 'list', '--json'])).stdout).jobs;
  const cancelled = await callGmnIn(t, at, ['jobs', 'cancel', id]);
  expect(cancelled).toMatchObject({ stdout: `job ${id} is cancelled\n`, exitCode: 0 });
  expect(cancelled.stderr).toContain('if the service has begun it, it goes on there');
  await callGmnIn(t, at, DOCUMENT);
  expect(creations()).toHaveLength(2);
});

/** What the server sends of a stream before it cuts the connection, or ends it. */
const thoughts = (...numbers: readonly number[]): Scripted => {
  const send = numbers.map((number) => {
    const delta = { type: 'thought', text: `Step ${number}.\n` };
    const event = number === 5 ? { event_type: 'interaction.completed' } : { event_type: 'step.delta', delta };
    return { event_id: `e${number}`, ...event };
  });
  return stream(...send, numbers.includes(5) ? END : CUT);
};

test('a stream that is cut is resumed after its last event', async (t) => {
  const running = json({ id: 'i-1', status: 'in_progress' });
  const steps = [{ type: 'model_output', content: [{ type: 'text', text: 'Done.' }] }];
  const done = json({ id: 'i-1', status: 'completed', steps });
  const script = [running, thoughts(1, 2), running, thoughts(3), running, thoughts(4, 5), done];
  const gmn = await callGmn(t, ASK, { script, env: FAST });
  expect([gmn.stdout, gmn.exitCode]).toEqual(['Done.\n', 0]);
  expect(gmn.requests.flatMap(({ path }) => (path.includes('stream') ? [path] : []))).toEqual([
    '/v1beta/interactions/i-1?stream=true',
    '/v1beta/interactions/i-1?stream=true&last_event_id=e2',
    '/v1beta/interactions/i-1?stream=true&last_event_id=e3',
  ]);
  expect(gmn.stderr.match(/Step \d/g)).toEqual(['Step 1', 'Step 2', 'Step 3', 'Step 4']);
});

posixTest(
  'Ctrl+C leaves it running and says how to go on; the same command, and jobs wait, go on with it',
  async (t) => {
    const { at, creations } = await withDemo(t, ['research-time=2500ms']);
    const { ended } = await startGmn(t, ASK, {
      at,
      onStderr: (text, child) => void (text.includes('Planning') && child.kill('SIGINT')),
    });
    const stopped = await ended;
    expect(stopped.exitCode).toBe(130);
    const id = /research ([\da-f-]{36}) begins/.exec(stopped.stderr)?.[1] ?? '';
    expect(stopped.stderr).toContain(`The research goes on at Google. To wait for it: gmn jobs wait ${id}`);
    const [wait, again] = await Promise.all([
      runShell(t, at, `${GMN_LINE} jobs wait ${id.slice(0, 8)}`),
      runShell(t, at, `${GMN_LINE} ${ASK[0]} '${ASK[1]}'`),
    ]);
    expect([wait.exitCode, again.exitCode]).toEqual([0, 0]);
    expect(again.stdout).toBe(wait.stdout);
    expect(again.stdout).toContain('## Sources');
    expect(creations()).toHaveLength(1);
  },
);

posixTest(
  'kill -9 before, at and after each answer of the service: one interaction, one report',
  { timeout: 60_000 },
  async (t) => {
    const report = {
      ...{ id: 'i-1', status: 'completed', usage: {} },
      steps: [{ type: 'model_output', content: [{ type: 'text', text: 'The report.' }] }],
    };
    /** What it is killed at: the request, or the moment after its answer. */
    const moments = ['POST', 'POST answered', 'GET', 'GET answered'] as const;
    for (const moment of moments) {
      let kill = (): void => {};
      let created = 0;
      const server: Scripted = async (response, request) => {
        const { method, path } = request;
        if (path.includes('stream=true')) return json({}, 404)(response, request);
        if (method === 'POST') created += 1;
        const isNow = moment.startsWith(method);
        if (isNow && !moment.endsWith('answered')) {
          kill();
          if (method === 'POST') return;
        }
        await json(method === 'POST' ? { id: 'i-1', status: 'in_progress' } : report)(response, request);
        if (isNow && moment.endsWith('answered')) kill();
      };
      const gemini = await fakeGemini(t, server);
      const at = place(t, { gemini, env: FAST });
      const first = await startGmn(t, ASK, { at });
      kill = () => void first.child.kill('SIGKILL');
      await first.ended;
      kill = () => {};
      const second = await callGmnIn(t, at, ASK);
      expect(created, moment).toBe(1);
      if (second.exitCode !== 0) {
        expect(second.stderr).toContain('it cannot be known whether');
        const third = await callGmnIn(t, at, [...ASK, '--interaction', 'i-1']);
        expect([third.stdout, created]).toEqual(['The report.\n', 1]);
      } else expect(second.stdout).toBe('The report.\n');
    }
  },
);

test.for([
  [['research'], 'no question given', 1],
  [[...ASK, '--max-cost', '1'], 'the price of deep-research-preview-04-2026 is not known', 1],
  [[...ASK, '--max-cost', '0'], '--max-cost: 0 is out of range', 1],
  [['research', '--interaction', '..'], '--interaction: that is no id', 1],
  [['jobs', 'show', 'nothing'], 'there is no job "nothing"', 1],
  [['jobs', 'wait', '../../etc/passwd'], 'there is no job', 1],
] as const)('%j is a usage error', async ([words, message, exitCode], t) => {
  const gmn = await callGmn(t, words, { script: [] });
  expect(gmn).toMatchObject({ stdout: '', stderr: expect.stringContaining(message), exitCode });
});

test.for([
  ['Vertex AI', { GOOGLE_API_KEY: 'test-key-0123456789', GOOGLE_GENAI_USE_VERTEXAI: 'true' }, {}],
  [
    'Code Assist',
    { CODE_ASSIST_ENDPOINT: 'http://127.0.0.1:9' },
    {
      '.gemini/oauth_creds.json': signInFile(),
      '.gemini/settings.json': '{"security":{"auth":{"selectedType":"oauth-personal"}}}',
    },
  ],
] as const)('%s has no research: exit 2 with the way out', async ([name, env, home], t) => {
  const gmn = await callGmn(t, ASK, { env, home });
  expect(gmn).toMatchObject({ stdout: '', exitCode: 2 });
  expect(gmn.stderr).toContain(`Error: ${name}`);
  expect(gmn.stderr).toContain('Use an API key: gmn auth set-key');
});

test.for(['', '..', '\ud800', 'a b', '\u001b[31mred', 'ü', 7, null, 'x'.repeat(2001)])(
  'an id of the service that cannot be asked for is no id: %j',
  async (id, t) => {
    const gmn = await callGmn(t, ASK, { script: [json({ id, status: 'in_progress' })], env: FAST });
    expect(gmn).toMatchObject({
      stdout: '',
      exitCode: 3,
      stderr: expect.stringContaining('it cannot be known whether'),
    });
    expect(gmn.requests).toHaveLength(1);
  },
);

test('cancelling what the service does not know does not call it cancelled, and keeps its id', async (t) => {
  const running = json({ id: 'a/b', status: 'in_progress' });
  const script = [running, ...Array(3).fill(failure(404, 'NOT_FOUND'))];
  const at = place(t, { gemini: await fakeGemini(t, script), env: { ...FAST, GMN_RETRY_DELAY: '0ms' } });
  await callGmnIn(t, at, ASK);
  const [{ job_id: id }] = JSON.parse((await callGmnIn(t, at, ['jobs', '--json'])).stdout).jobs;
  const gmn = await callGmnIn(t, at, ['jobs', 'cancel', id]);
  expect(gmn).toMatchObject({ stdout: `job ${id} is failed\n`, exitCode: 0 });
  expect(gmn.stderr).toContain('With the key that began it: gmn research --interaction a/b');
});

test("gmn's own key is neither sent nor kept", async (t) => {
  const { at, creations } = await withDemo(t);
  const key = at.env.GEMINI_API_KEY ?? '';
  await callGmnIn(t, at, ['research', `what is ${key}?`]);
  expect(key).not.toBe('');
  expect(creations()[0]?.body).not.toContain(key);
  expect((await callGmnIn(t, at, ['jobs', 'list'])).stdout).not.toContain(key);
});

posixTest('a job that an agent delegated is listed, waited for and cancelled like any other', async (t) => {
  const gemini = await fakeGemini(t, [reply('done it'), endless(chunk([{ text: 'x' }]))]);
  const at = place(t, { gemini });
  const server = await serve(t, { at, gemini });
  const delegate = async () =>
    (await server.call('delegate', { prompt: 'work', mode: 'async' })).structuredContent.job_id;
  const done = await delegate();
  expect(await callGmnIn(t, at, ['jobs', 'wait', done])).toMatchObject({ stdout: 'done it\n', exitCode: 0 });
  const endlessJob = await delegate();
  const cancelled = await callGmnIn(t, at, ['jobs', 'cancel', endlessJob]);
  expect(cancelled).toMatchObject({ stdout: `job ${endlessJob} is cancelled\n`, exitCode: 0 });
  const { structuredContent } = await server.call('delegate_status', { job_id: endlessJob });
  expect(structuredContent).toMatchObject({ status: 'cancelled', code: 'CANCELLED' });
  const { stdout } = await callGmnIn(t, at, ['jobs', 'list', '--json']);
  expect(JSON.parse(stdout).jobs.map(({ status }: { status: string }) => status)).toEqual(['cancelled', 'completed']);
});

function hasByte(reader: number): boolean {
  try {
    return readSync(reader, Buffer.alloc(1)) === 1;
  } catch {
    // EAGAIN
    return false;
  }
}

/** A service whose report is longer than a pipe holds, and a pipe from which nobody reads. */
async function withStuckReader(t: TestContext) {
  let created = 0;
  const text = 'why is the sky blue? '.repeat(10_000).trim();
  const report = {
    id: 'i-1',
    status: 'completed',
    steps: [{ type: 'model_output', content: [{ type: 'text', text }] }],
  };
  const server: Scripted = async (response, { method, path }) => {
    if (path.includes('stream=true')) return json({}, 404)(response, { method, path } as never);
    if (method === 'POST') created += 1;
    return json(method === 'POST' ? { id: `i-${created}`, status: 'in_progress' } : report)(response, {
      method,
    } as never);
  };
  const at = place(t, { gemini: await fakeGemini(t, server), env: FAST });
  const gmn = async (words: readonly string[]) => callGmnIn(t, at, words);
  const listJobs = async () => JSON.parse((await gmn(['jobs', 'list', '--json'])).stdout).jobs;
  return {
    ...{ gmn, listJobs, text, created: () => created },
    /** Killed once its output has begun, and two more commands have run: time enough for what it would write next. */
    async runUntilKilled(words: readonly string[]): Promise<void> {
      const fifo = join(at.cwd, `${words[1]}.fifo`);
      spawnSync('mkfifo', [fifo]);
      const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
      t.onTestFinished(() => closeSync(reader));
      const writer = openSync(fifo, constants.O_WRONLY);
      const { child, ended } = await startGmn(t, words, { at, stdout: writer });
      closeSync(writer);
      while (!hasByte(reader)) await listJobs();
      await listJobs();
      await listJobs();
      child.kill('SIGKILL');
      await ended;
    },
  };
}

posixTest.for(['text', 'json', 'stream-json'])(
  'killed while its report waits for a reader, it has delivered nothing, and the same command shows it: -o %s',
  async (format, t) => {
    const { gmn, listJobs, runUntilKilled, text, created } = await withStuckReader(t);
    const ask = [...ASK, '-o', format];
    await runUntilKilled(ask);
    // Neither has a command that was killed in the same way when it showed the job.
    const [{ job_id: id }] = await listJobs();
    await runUntilKilled(['jobs', 'show', id]);
    await runUntilKilled(['jobs', 'wait', id]);
    expect((await gmn(ask)).stdout).toContain(text);
    expect([created(), (await listJobs()).length]).toEqual([1, 1]);
    // That one has left, so the same question is a new one.
    await gmn(ask);
    expect([created(), (await listJobs()).length]).toEqual([2, 2]);
  },
);

linuxTest.for(['text', 'json'])(
  'a report that its file has no room for is not delivered, and the same command shows it: -o %s',
  async (format, t) => {
    const { at, creations } = await withDemo(t);
    const ask = [...ASK, '-o', format];
    expect((await runGmnIn(t, at, [...ask, '--output-file', '/dev/full'])).exitCode).toBe(1);
    expect((await callGmnIn(t, at, [...ask, '--output-file', 'r.md'])).exitCode).toBe(0);
    expect(readFileSync(join(at.cwd, 'r.md'), 'utf8')).toMatch(/^# why is the sky blue/);
    expect(creations()).toHaveLength(1);
  },
);
