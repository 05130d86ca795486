import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fakeGemini, json, reply, type Scripted } from '../../support/gemini.ts';
import { place } from '../../support/gmn.ts';
import { type Json, type RawServer, serve } from './support.ts';

const CANARY = 'canary-0815';

/** Text that a shell, a path, an option, a template, a URL or a parser could interpret. */
const SHELL = ['touch MARKER', 'cat OUTSIDE'].flatMap((command) => [
  `$(${command})`,
  `\`${command}\``,
  `; ${command}`,
  `| ${command}`,
  `|| ${command}`,
  `&& ${command}`,
  `& ${command} &`,
  `\n${command}\n`,
  `\r\n${command}`,
  `'; ${command}; '`,
  `"; ${command}; "`,
  `\\"; ${command}; \\"`,
  `"$(${command})"`,
  `x' $(${command}) 'x`,
  `#{${command}}`,
  `<(${command})`,
  `!${command}`,
  `!{${command}}`,
]);
const OTHERS = [
  ...['--yolo', '-y', '--allow-shell', '--allow-write', '--root=/', '-r latest', '-- --yolo', '-f OUTSIDE'],
  ...['@OUTSIDE', '@{OUTSIDE}', '"@OUTSIDE"', '@../outside.txt', '@./../outside.txt', '@file://OUTSIDE'],
  ...['OUTSIDE', '../outside.txt', '..\\outside.txt', 'file://OUTSIDE', '%2e%2e%2foutside.txt', '/etc/passwd'],
  ...['~/outside.txt', '/proc/self/environ', '/dev/stdin', '\u0000MARKER', '\u202eMARKER', '{{constructor}}'],
  ...['__proto__', 'constructor', '$HOME', '%n%s', 'http://127.0.0.1:1/', 'https://127.0.0.1:1/x.png'],
];
const PAYLOADS = [...SHELL, ...OTHERS];

/** Reports every process that is started, and lets it run. */
const WATCH = `
const { appendFileSync } = require('node:fs');
require('node:diagnostics_channel').subscribe('child_process', ({ process: child }) => {
  appendFileSync(process.env.WATCHED, 'a process was started\\n');
});
`;

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** Other arguments a tool needs to accept the payload. */
const COMPANY: Readonly<Record<string, object>> = {
  chat: { prompt: 'x' },
  'chat-reply': { prompt: 'x' },
  generate_text: { prompt: 'x' },
  analyze_image: { prompt: 'x', imageBase64: PIXEL },
  delegate: { prompt: 'x' },
};

const answerAny: Scripted = (response, request) => {
  if (request.path.includes('countTokens')) return json({ totalTokens: 1 })(response, request);
  if (request.path.includes('embedContent')) return json({ embedding: { values: [1] } })(response, request);
  return reply('ok')(response, request);
};

/** Arguments for free text: several payloads can share one call there. */
const WORDS = ['prompt', 'text', 'systemPrompt', 'systemInstruction', 'system_prompt', 'safetySettings', 'jsonSchema'];
const AT_ONCE = 6;

interface Place {
  readonly key: string;
  readonly holding: (payload: string) => object;
}

/** Every string in the arguments of a tool, also inside lists and objects. */
function placesIn({ name, inputSchema }: Json): readonly Place[] {
  return Object.entries<Json>(inputSchema.properties).flatMap(([key, { type }]) => {
    const given = (value: unknown): object => ({ ...COMPANY[name], [key]: value });
    if (type === 'string') {
      const { imageBase64: _, ...others } = given('') as Json;
      const isImage = key === 'imagePath' || key === 'imageUrl';
      return [{ key, holding: (payload) => (isImage ? { ...others, [key]: payload } : given(payload)) }];
    }
    if (type === 'array') return [{ key, holding: (payload) => given([{ category: payload, threshold: payload }]) }];
    if (type === 'object') return [{ key, holding: (payload) => given({ type: 'string', description: payload }) }];
    return [];
  });
}

function inGroups(list: readonly string[]): readonly string[] {
  const starts = list.flatMap((_, index) => (index % AT_ONCE === 0 ? [index] : []));
  return starts.map((start) => list.slice(start, start + AT_ONCE).join(' '));
}

async function sendAll(server: RawServer, outside: string): Promise<{ readonly count: number; readonly said: string }> {
  const { tools } = (await server.ask('tools/list')).result;
  let count = 0;
  const said: string[] = [];
  for (const tool of tools) {
    for (const { key, holding } of placesIn(tool)) {
      const payloads = PAYLOADS.map((payload) => payload.replaceAll('OUTSIDE', outside));
      const texts = WORDS.includes(key) ? inGroups(payloads) : payloads;
      const results = await Promise.all(texts.map((text) => server.call(tool.name, holding(text))));
      count += 1;
      said.push(...results.map((result) => JSON.stringify(result)));
    }
  }
  return { count, said: said.join('\n') };
}

test('payloads in every text of every tool start no process, read no byte outside and write nothing', async (t) => {
  expect(PAYLOADS.length).toBeGreaterThanOrEqual(60);
  const model = await fakeGemini(t, answerAny);
  const at = place(t, { gemini: model, home: { 'outside.txt': CANARY } });
  const outside = join(at.root, 'outside.txt');
  const watched = join(at.root, 'watched');
  writeFileSync(outside, CANARY);
  writeFileSync(join(at.root, 'watch.cjs'), WATCH);
  const before = readdirSync(at.root).sort();
  const env = { ...at.env, NODE_OPTIONS: `--require=${join(at.root, 'watch.cjs')}`, WATCHED: watched };
  const server = await serve(t, { at: { ...at, env } });
  const { count, said } = await sendAll(server, outside);
  // Every string of every tool, and the list and the object of generate_text.
  expect(count).toBe(39);
  for (const payload of PAYLOADS) {
    const sent = JSON.stringify(payload.replaceAll('OUTSIDE', outside)).slice(1, -1);
    expect(model.requests.filter(({ text }) => text.includes(sent)).length).toBeGreaterThan(10);
  }
  expect(`${said}${model.requests.map(({ text }) => text).join('\n')}`).not.toContain(CANARY);
  expect(existsSync(watched)).toBe(false);
  expect(readdirSync(at.cwd)).toEqual([]);
  expect(readdirSync(at.root).sort()).toEqual(before);
  expect(readdirSync(at.home).sort()).toEqual(['.gmn', 'outside.txt']);
  expect((await server.ask('ping')).result).toEqual({});
}, 120_000);

test('the watch of the test above sees a process', (t) => {
  const at = place(t);
  writeFileSync(join(at.root, 'watch.cjs'), WATCH);
  const env = { ...at.env, NODE_OPTIONS: `--require=${join(at.root, 'watch.cjs')}`, WATCHED: join(at.root, 'watched') };
  spawnSync(process.execPath, ['-e', `require('node:child_process').exec('true')`], { env });
  expect(existsSync(env.WATCHED)).toBe(true);
});
