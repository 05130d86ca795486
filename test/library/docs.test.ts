import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { expect, test } from 'vitest';
import { demo } from '../../src/library/demo.ts';
import { createLibrary } from '../../src/library/library.ts';
import { isStandalone, place, startProgram } from '../support/gmn.ts';
import { put, temporary } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/library.md'), 'utf8');
const EXAMPLES = Array.from(PAGE.matchAll(/^```ts\n([\s\S]*?)^```$/gm), ([, code = '']) => code);

/** What the types promise, beside the examples; each line that must not compile says so. */
const PROMISES = `
import { ask, type Answer, defineTool, type FromSchema, type GmnEvent, type JsonSchema, type Turn } from 'gmn';
import { demo, type DemoServer } from 'gmn/demo';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const check = <_ extends true>(): void => {};

check<Same<FromSchema<{ type: 'string' }>, string>>();
check<Same<FromSchema<{ type: ['integer', 'null'] }>, number | null>>();
check<Same<FromSchema<{ enum: ['a', 1] }>, 'a' | 1>>();
check<Same<FromSchema<{ anyOf: [{ type: 'boolean' }, { const: 'x' }] }>, boolean | 'x'>>();
check<Same<FromSchema<{ type: 'array'; items: { type: 'array'; items: { type: 'number' } } }>, number[][]>>();
check<Same<FromSchema<{ type: 'object'; properties: { a: { type: 'string' }; b: { type: 'number' } }; required: ['a'] }>, { a: string; b?: number }>>();
check<Same<FromSchema<{ type: 'object'; additionalProperties: { type: 'number' } }>, { [key: string]: number }>>();
check<Same<FromSchema<JsonSchema>, unknown>>();

const wide: JsonSchema = { type: 'string' };
const unknown = await ask('x', { schema: wide }).json();
check<Same<typeof unknown, unknown>>();
const plain: Turn = ask('x', { model: undefined });
const answer: Answer = await plain;
const cost: number | undefined = answer.cost;
// @ts-expect-error: without a schema there is no value
const value: string = answer.json;
// @ts-expect-error: a misspelt option
ask('x', { modle: 'flash' });
// @ts-expect-error: the argument is a number
defineTool({ name: 'a', description: '', input: { type: 'object', properties: { n: { type: 'number' } } }, run: ({ n }) => n?.trim() });
const server: DemoServer = await demo();
await using other = await demo();
const show = (event: GmnEvent): string => (event.type === 'tool_call' ? event.name : event.type === 'start' ? event.model : '');
export { cost, server, show, value, other };
`;

function openProject(root: string): void {
  mkdirSync(join(root, 'node_modules', '@types'), { recursive: true });
  symlinkSync(ROOT, join(root, 'node_modules', 'gmn'), 'junction');
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(root, 'node_modules/@types/node'), 'junction');
  symlinkSync(join(ROOT, 'node_modules/undici-types'), join(root, 'node_modules/undici-types'), 'junction');
}

test.for([
  ['node16', 'node16'],
  ['esnext', 'bundler'],
] as const)(
  'the types and the examples of the page compile: module %s, resolution %s',
  ([module, moduleResolution]) => {
    const root = temporary({
      ...Object.fromEntries([...EXAMPLES, PROMISES].map((code, index) => [`example-${index}.mts`, code])),
      'package.json': '{"type":"module"}',
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          ...{
            module,
            moduleResolution,
            target: 'es2022',
            strict: true,
            noEmit: true,
            types: ['node'],
            skipLibCheck: false,
          },
          ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
        },
        include: ['*.mts'],
      }),
    });
    openProject(root);
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', root], {
      encoding: 'utf8',
    });
    expect(EXAMPLES.length).toBeGreaterThan(5);
    expect(stdout).toBe('');
  },
);

test.skipIf(isStandalone)('the examples of the page run', async (t) => {
  const server = await demo();
  t.onTestFinished(server.close);
  const at = place(t, { gemini: server, files: { 'notes.md': 'buy milk\n' } });
  const names = EXAMPLES.map((_, index) => `example-${index}.mjs`);
  put(at.cwd, {
    ...Object.fromEntries(
      EXAMPLES.map((code, index) => [names[index], transformSync(code, { loader: 'ts', target: 'node20' }).code]),
    ),
    'all.mjs': names.map((name) => `console.log('# ${name}'); await import('./${name}');`).join('\n'),
  });
  openProject(at.cwd);
  const { stdout, stderr, exitCode } = await startProgram(t, [process.execPath, ['all.mjs']], at).ended;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toContain('November.');
  expect(stdout).toContain("[ 'RED', 'GREEN', 'BLUE' ]");
  expect(stdout).toContain('+done');
});

test('the page has every export, option and error code', () => {
  const types = readFileSync(join(ROOT, 'src/library/gmn.d.ts'), 'utf8');
  const fields = Array.from(
    types.matchAll(/^export interface \w+Options [^{]*\{([\s\S]*?)\n\}/gm),
    ([, body]) => body,
  ).join();
  const options = Array.from(fields.matchAll(/^ {2}readonly (\w+)\?/gm), ([, name = '']) => name);
  const names = [...Object.keys(createLibrary('')), ...options];
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(PAGE))).toEqual([]);
});
