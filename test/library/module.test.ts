import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type TestContext, test } from 'vitest';
import { isStandalone, place, startProgram } from '../support/gmn.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a program that has gmn in its node_modules. What it reports goes to a file: stdout and stderr are none of the library's business. */
async function runModule(t: TestContext, code: string) {
  const at = place(t, { isFirstRun: true });
  mkdirSync(join(at.cwd, 'node_modules'));
  symlinkSync(ROOT, join(at.cwd, 'node_modules', 'gmn'), 'junction');
  const report = `import { writeFileSync } from 'node:fs';\nconst report = (value) => writeFileSync('report.json', JSON.stringify(value));\n`;
  writeFileSync(join(at.cwd, 'program.mjs'), report + code);
  const { stdout, stderr, exitCode } = await startProgram(t, [process.execPath, ['program.mjs']], at).ended;
  const written = exitCode === 0 ? JSON.parse(readFileSync(join(at.cwd, 'report.json'), 'utf8')) : undefined;
  return { stdout, stderr, exitCode, report: written, home: readdirSync(at.home) };
}

test.skipIf(isStandalone)(
  'a program with fifty asks, faults, tools and cancellations ends by itself, and leaves no trace',
  async (t) => {
    const result = await runModule(
      t,
      `import { ask, defineTool, GmnError } from 'gmn';
     import { demo } from 'gmn/demo';
     import { createRequire } from 'node:module';
     const events = ['exit', 'SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection', 'warning'];
     const count = () => events.map((name) => process.listenerCount(name));
     const before = [count(), process.cwd(), JSON.stringify(process.env)];
     const server = await demo({ faults: ['503x1'] });
     const { signal } = new AbortController();
     const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => ask('number ' + index, { server, signal }).text()));
     const add = defineTool({
       name: 'add', description: 'Adds', input: { type: 'object', properties: { a: { type: 'number' } } }, run: ({ a }) => a + 1,
     });
     const { text } = await ask('call add {"a":1}', { server, tools: [add, 'read'] });
     const silent = await demo({ faults: ['hang'] });
     const controller = new AbortController();
     const cancelled = ask('never', { server: silent, signal: controller.signal }).catch((error) => error);
     while (silent.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
     controller.abort();
     const { code } = await cancelled;
     const missing = await ask('x', { apiKey: '' }).catch((error) => error instanceof GmnError && error.code);
     await silent.close();
     await server.close();
     // Whatever keeps the program alive is listed; a connection that is closed takes some turns of the event loop.
     // Node itself opens the pipe of stderr when it closes a socket.
     const list = () => process.getActiveResourcesInfo().filter((name) => !['Immediate', 'PipeWrap'].includes(name));
     for (let turn = 0; turn < 1000 && list().length > 0; turn += 1) await new Promise((resolve) => setImmediate(resolve));
     const after = [count(), process.cwd(), JSON.stringify(process.env)];
     report({ answers, text, code, missing, active: list(), requests: server.requests.length, title: createRequire(import.meta.url)('gmn/schemas/stream-json.schema.json').title, same: JSON.stringify(before) === JSON.stringify(after) });`,
    );
    expect(result).toEqual({
      ...{ stdout: '', stderr: '', exitCode: 0 },
      report: {
        answers: Array.from({ length: 50 }, (_, index) => `demo: number ${index}`),
        text: expect.any(String),
        ...{ code: 'interrupted', missing: 'auth', active: [], same: true, title: 'gmn -o stream-json' },
        requests: 53,
      },
      // The tools that read keep their place for long outputs there, and nothing else.
      home: expect.toSatisfy((names: readonly string[]) => names.every((name) => name === '.gmn')),
    });
  },
);

test.skipIf(isStandalone)(
  'a conversation with tools changes files, can be undone, is saved under its name, and goes on',
  async (t) => {
    const { report, ...result } = await runModule(
      t,
      `import { chat } from 'gmn';
     import { demo } from 'gmn/demo';
     import { existsSync, readFileSync } from 'node:fs';
     const count = () => ['exit', 'SIGINT'].map((name) => process.listenerCount(name)).join();
     const listeners = count();
     const server = await demo();
     const read = () => (existsSync('a.txt') ? readFileSync('a.txt', 'utf8') : undefined);
     const asked = [];
     const session = await chat({ server, tools: ['edit'], session: 'trip', approve: ({ name, diff }) => (asked.push([name, diff]), 'once') });
     const states = [];
     for (const content of ['one', 'two']) {
       await session.send('call write_file {"file_path":"a.txt","content":"' + content + '"}');
       states.push(read());
     }
     const { sessionId } = session;
     const undone = [];
     for (let count = 0; count < 3; count += 1) undone.push(await session.undo(), read());
     await session.close();
     const denied = await chat({ server, tools: ['edit'], session: 'trip', approvalMode: 'default' });
     const again = await denied.send('call write_file {"file_path":"b.txt","content":"no"}');
     await denied.close();
     const turns = server.requests.at(-1).body.contents.length;
     await server.close();
     report({ asked, states, undone, same: denied.sessionId === sessionId && again.sessionId === sessionId, turns, warnings: again.warnings, isDenied: !existsSync('b.txt'), isClean: listeners === count() });`,
    );
    expect(result).toEqual({ stdout: '', stderr: '', exitCode: 0, home: ['.gmn'] });
    expect(report).toEqual({
      asked: [
        ['write_file', expect.stringContaining('+one')],
        ['write_file', expect.stringContaining('+two')],
      ],
      states: ['one', 'two'],
      undone: [
        [{ path: expect.stringMatching(/a\.txt$/), outcome: 'restored' }],
        'one',
        [{ path: expect.stringMatching(/a\.txt$/), outcome: 'removed' }],
        ...[undefined, [], undefined].map((value) => value ?? null),
      ],
      ...{ same: true, isDenied: true, isClean: true, turns: expect.any(Number) },
      warnings: [expect.stringContaining('pass approve')],
    });
    expect(report.turns).toBeGreaterThan(8);
  },
);

test('every name that the types declare is exported, and no other', async () => {
  for (const [module, types] of [
    ['gmn', 'gmn.d.ts'],
    ['demo', 'gmn-demo.d.ts'],
  ] as const) {
    const declared = readFileSync(join(ROOT, 'src/library', types), 'utf8').matchAll(
      /^export (?:function|class) (\w+)/gm,
    );
    const exported: Record<string, unknown> = await import(join(ROOT, 'dist', `${module}.mjs`));
    const names = [...new Set(Array.from(declared, ([, name = '']) => name))].sort();
    expect([module, Object.keys(exported).sort()]).toEqual([module, names]);
    expect(Object.values(exported).map((value) => typeof value)).toEqual(names.map(() => 'function'));
  }
});
