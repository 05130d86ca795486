import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, type TestContext, test } from 'vitest';
import { ask, FLASH } from '../../demo/support.ts';
import { gmnCommand, place, runGmn, runGmnIn } from '../../support/gmn.ts';
import { posixTest } from '../../support/posix.ts';
import { runInTerminal } from '../../support/pty.ts';

test('the sample runs come out byte for byte', async (t) => {
  expect(await runGmn(t, ['--demo', 'Hello'])).toMatchObject({
    stdout: 'Hello! How can I help you today?\n',
    stderr: '',
    exitCode: 0,
  });
  expect(await runGmn(t, ['--demo', 'Hello', '-o', 'stream-json'])).toMatchObject({
    stdout: [
      '{"type":"start","model":"gemini-2.5-flash"}',
      '{"type":"content","text":"Hello"}',
      '{"type":"content","text":"! How can"}',
      '{"type":"content","text":" I help you today?"}',
      '{"type":"done","usage":{"promptTokenCount":5,"candidatesTokenCount":12,"totalTokenCount":17},"finishReason":"STOP"}',
      '',
    ].join('\n'),
    stderr: '',
    exitCode: 0,
  });
  const review = await runGmn(t, ['--demo', '-f', 'STYLE.md', 'review this change', '-u'], {
    files: { 'STYLE.md': 'Use const.\n' },
    stdin: 'diff --git a/src/sum.ts b/src/sum.ts\n',
  });
  expect(review.stdout).toBe(
    '- src/sum.ts:3 adds a loop that never ends when `n` is negative. Guard it.\n' +
      '- STYLE.md asks for `const`; line 5 uses `let`.\n',
  );
  expect(review.stderr).toMatch(/^gemini-2\.5-flash · 48 in · 31 out · 79 tokens · \d+\.\ds\n$/);
});

interface Served {
  readonly lines: readonly string[];
  readonly url: string;
  stop(signal: NodeJS.Signals): Promise<{ exitCode: number | null; stderr: string }>;
}

function serveDemo(t: TestContext, args: readonly string[], files: Record<string, string> = {}): Promise<Served> {
  const { cwd, env } = place(t, { files });
  const child = spawn(...gmnCommand(['demo', 'serve', ...args]), { cwd, env });
  t.onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      const lines = stdout.split('\n').slice(0, -1);
      if (lines.length < 3) return;
      const stop = async (signal: NodeJS.Signals) => {
        child.kill(signal);
        return { exitCode: await ended, stderr };
      };
      resolve({ lines, url: lines[0] ?? '', stop });
    });
    child.on('close', (code) => reject(new Error(`it ended with ${code}: ${stderr}`)));
  });
}

test('demo serve prints its address first, logs what it answers, and ends with the signal', async (t) => {
  const served = await serveDemo(t, ['--fault', '503x1']);
  expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(served.lines).toEqual([
    served.url,
    `GEMINI_API_KEY=demo GOOGLE_GEMINI_BASE_URL=${served.url}`,
    `GOOGLE_GENAI_USE_GCA=true GOOGLE_CLOUD_ACCESS_TOKEN=demo CODE_ASSIST_ENDPOINT=${served.url}`,
  ]);
  const post = () =>
    fetch(`${served.url}${FLASH}:generateContent?key=secret`, { method: 'POST', body: JSON.stringify(ask('hi')) });
  expect([(await post()).status, (await post()).status]).toEqual([503, 200]);
  expect(await served.stop('SIGTERM')).toEqual({
    exitCode: 143,
    stderr: `POST ${FLASH}:generateContent 503\nPOST ${FLASH}:generateContent 200\n`,
  });
});

test('demo serve ends quietly after Ctrl+C, even with a client waiting', async (t) => {
  const served = await serveDemo(t, ['--quiet', '--fault', 'hang-after=1']);
  const body = JSON.stringify(ask('Hello'));
  const response = await fetch(`${served.url}${FLASH}:streamGenerateContent?alt=sse&key=k`, { method: 'POST', body });
  await response.body?.getReader().read();
  expect(await served.stop('SIGINT')).toEqual({ exitCode: 130, stderr: '' });
});

test('a fault, a script or a port that cannot be used is a usage error', async (t) => {
  const fault = await runGmn(t, ['demo', 'serve', '--fault', 'teapot']);
  expect([fault.exitCode, fault.stdout]).toEqual([1, '']);
  expect(fault.stderr).toMatch(/^Error: unknown fault "teapot"\nThese are known:\n {2}401 /);
  const files = { 's.jsonl': '{"method":"countTokens","response":{}}\nnonsense\n' };
  const script = await runGmn(t, ['demo', 'serve', '--script', 's.jsonl'], { files });
  expect([script.exitCode, script.stderr.split('\n')[0]]).toEqual([1, expect.stringContaining('s.jsonl:2: not JSON')]);
  const missing = await runGmn(t, ['demo', 'serve', '--script', 'none.jsonl']);
  expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining('none.jsonl')]);
  const port = await runGmn(t, ['demo', 'serve', '--port', '70000']);
  expect([port.exitCode, port.stderr.split('\n')[0]]).toEqual([1, 'Error: --port 70000 is not a port']);
});

/** A dozen processes, one after the other. */
const TOUR_MS = 60_000;

test('the tour runs by itself when piped, shows real output, and leaves nothing behind', {
  timeout: TOUR_MS,
}, async (t) => {
  const temporary = place(t);
  const env = { TMPDIR: temporary.root, GEMINI_API_KEY: 'mine', GMN_DEMO: '0' };
  const at = place(t, { env });
  const tour = await runGmnIn(t, at, ['demo']);
  expect([tour.exitCode, tour.stderr]).toEqual([0, '']);
  expect(tour.stdout).toContain('\n$ gmn --demo "what can gmn do?"\n# What gmn does\n');
  expect(tour.stdout).toContain('- src/sum.ts:3 adds a loop that never ends');
  expect(tour.stdout).toContain('"3 colors"\n["red","green","blue"]\n');
  expect(tour.stdout).toContain('$ gmn --demo -c "and the second best?"\nApril.\n');
  expect(tour.stdout).toMatch(/\*\*Fixed\.\*\* The loop[\s\S]*\n\$ gmn undo\n.*sum\.js/);
  expect(tour.stdout).toContain("\\n' | gmn chat --demo\nNovember.\nApril.\n");
  expect([...tour.stdout.matchAll(/^=> exit (\d)$/gm)].map((match) => match[1])).toEqual(['1']);
  expect(readdirSync(temporary.root).sort()).toEqual(['home', 'work']);
  expect([readdirSync(at.cwd), readdirSync(at.home).filter((name) => name !== '.gmn')]).toEqual([[], []]);
});

posixTest(
  'on a terminal each step can be run, tried, skipped or the last; a tried edit asks, and undo puts it back',
  { timeout: TOUR_MS },
  async (t) => {
    const terminal = runInTerminal(t, ['demo'], { env: { NO_COLOR: '1' }, columns: 72 });
    const steps = async (step: number, key: string): Promise<void> => {
      await terminal.until(new RegExp(`${step}/8 [\\s\\S]*\\[q\\]uit › $`));
      terminal.type(key);
    };
    await steps(1, '\r');
    // Laid out as on a terminal: a table with lines, no bars.
    await terminal.until(/What gmn does[\s\S]*─{5}/);
    for (const step of [2, 3, 4]) await steps(step, 's');
    await steps(5, 't');
    await terminal.until(/│ -\s+while \(n !== 0\) \{[\s\S]*│ \+\s+while \(n > 0\) \{[\s\S]*\[y\]es[^│]*› $/);
    terminal.type('y');
    await terminal.until(/Fixed\./);
    await steps(6, '\r');
    await terminal.until(/sum\.js/);
    await steps(7, 's');
    await steps(8, 'q');
    const { exitCode, output } = await terminal.ended;
    expect(exitCode).toBe(0);
    expect(output).toMatch(/Next steps\r\n/);
    expect(output).toMatch(/2\/8 {2}Pipe a diff [^\r]* shows the\r\n {5}tokens\.\r\n/);
    expect(output).not.toContain('November');
  },
);

posixTest('Enter alone works through the tour to its end', { timeout: TOUR_MS }, async (t) => {
  const terminal = runInTerminal(t, ['demo'], { env: { NO_COLOR: '1' }, columns: 72 });
  for (const step of [1, 2, 3, 4, 5, 6, 7, 8]) {
    await terminal.until(new RegExp(`${step}/8 [\\s\\S]*\\[q\\]uit › $`));
    terminal.type('\r');
  }
  const { exitCode, output } = await terminal.ended;
  expect(exitCode).toBe(0);
  for (const shown of ['Fixed.', 'sum.js', 'November', 'x.md', 'Next steps']) expect(output).toContain(shown);
});

posixTest('a tour without room for its files says where', async (t) => {
  expect(await runGmn(t, ['demo'], { env: { TMPDIR: '/nowhere' } })).toMatchObject({
    stdout: '',
    stderr: expect.stringMatching(/^Error: cannot create a directory in \/nowhere\n.* TMPDIR\.\n$/),
    exitCode: 4,
  });
});
