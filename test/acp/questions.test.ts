import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContentBlock, PermissionOption, RequestPermissionRequest } from '@agentclientprotocol/sdk';
import { expect, test } from 'vitest';
import type { Client } from '../../src/acp/client.ts';
import { createEditorElicit } from '../../src/acp/person.ts';
import { countInvisible } from '../../src/core/text/terminal.ts';
import { call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmnIn } from '../support/gmn.ts';
import { openEditor } from './support.ts';

const SERVER = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
  else if (method === 'tools/list') send({ id, result: { tools: ['greet', 'part'].map((name) => ({ name, description: name, inputSchema: { type: 'object', properties: { who: { type: 'string' } } } })) } });
  else if (method === 'tools/call') send({ id, result: { content: [{ type: 'text', text: 'hello' }] } });
  else if (id !== undefined) send({ id, result: {} });
});`;

const BLANKS = ' '.repeat(500);
const HOSTILE = `a\u001b[2K\u202eb\u200b\u2028${BLANKS}c`;
const SHOWN = '[2K\\u202eb\\u200b\\u2028⟨500 spaces⟩c';
const NAME = 'a\u001b[2K\u202eb\u200b\u2028c';

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      yield key;
      yield* textsIn(inner);
    }
  }
}

const contentOf = ({ toolCall }: RequestPermissionRequest): string => [...textsIn(toolCall.content)].join('\n');

const HOSTILE_CALLS = [
  ['a command', call('run_shell_command', { command: `true ${HOSTILE}`, description: HOSTILE })],
  ['a new file', call('write_file', { file_path: 'new.txt', content: `${HOSTILE}\n${'\n'.repeat(500)}end\n` })],
  ['a path', call('write_file', { file_path: `${NAME}.txt`, content: 'x' })],
  ['an edit', call('edit_file', { file_path: 'a.txt', old_string: 'one', new_string: HOSTILE })],
  ['a tool of a server', call('greet', { who: HOSTILE })],
] as const;

test.for(HOSTILE_CALLS)('an editor is shown nothing that hides or moves text: %s', async ([what, hostile], t) => {
  const first = reply(call('read_file', { file_path: 'a.txt' }));
  const editor = await openEditor(t, {
    ...{ script: [first, reply(hostile), reply('Done.')], answer: () => 'no' },
    files: { 'a.txt': 'one\n', 'server.cjs': SERVER },
  });
  const server = { name: 'mine', command: process.execPath, args: [join(editor.at.cwd, 'server.cjs')], env: [] };
  const { sessionId } = await editor.begin({ mcpServers: [server] });
  await editor.say(sessionId, 'go');
  const [asked] = editor.asked as [RequestPermissionRequest];
  expect(editor.asked).toHaveLength(1);
  const shown = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call');
  for (const text of textsIn([asked, shown])) {
    expect(countInvisible(text.replace(/[\n\t]/g, '')), JSON.stringify(text)).toBe(0);
    expect(text).not.toContain(BLANKS);
    expect(text).not.toContain('\n'.repeat(5));
  }
  expect(contentOf(asked).replaceAll('\n┊ ', '')).toContain(what === 'a path' ? SHOWN.replace(/⟨.*⟩/, '') : SHOWN);
});

test('what a question shows is a block of code: Markdown would hide parts of it', async (t) => {
  const command = 'true <!-- ``` --> [a](b)';
  const editor = await openEditor(t, {
    ...{ script: [reply(call('run_shell_command', { command })), reply('Done.')], answer: () => 'no' },
  });
  await editor.say((await editor.begin()).sessionId, 'go');
  expect(editor.asked[0]?.toolCall.content).toEqual([
    {
      type: 'content',
      content: {
        type: 'text',
        text: `\`\`\`\`text\n╭ run_shell_command in ${editor.at.cwd}\n│ ${command}\n\`\`\`\`\n`,
      },
    },
  ]);
});

test('what the diff does not show stands above it', async (t) => {
  const editor = await openEditor(t, {
    files: { 'a.txt': 'one\n'.repeat(100) },
    script: [
      reply(call('read_file', { file_path: 'a.txt' })),
      reply(call('write_file', { file_path: 'a.txt', content: 'o\u200bne\n' })),
      reply('Done.'),
    ],
    answer: () => 'no',
  });
  await editor.say((await editor.begin()).sessionId, 'go');
  expect(contentOf(editor.asked[0] as RequestPermissionRequest)).toContain(
    '│ The file shrinks by more than half: from 400 characters to 5\n│ 1 character that cannot be seen: shown as escapes',
  );
});

test.for([
  ['\r\n', '\r\n', 'one\ntwo\n', 'one\n2\n'],
  ['\n', '\r\n', 'one\ntwo\n', 'one\\r\n2\\r\n'],
] as const)('line ends of a diff count where they change: %j to %j', async ([from, to, oldText, newText], t) => {
  const editor = await openEditor(t, {
    files: { 'a.txt': ['one', 'two', ''].join(from) },
    script: [
      reply(call('read_file', { file_path: 'a.txt' })),
      reply(call('write_file', { file_path: 'a.txt', content: ['one', '2', ''].join(to) })),
      reply('Done.'),
    ],
    answer: () => 'once',
  });
  await editor.say((await editor.begin()).sessionId, 'go');
  const diff = { type: 'diff', oldText, newText };
  expect(editor.asked[0]?.toolCall.content?.at(-1)).toMatchObject(diff);
  const updates = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call_update');
  expect(updates.at(-1)).toMatchObject({ content: [diff] });
  expect(readFileSync(join(editor.at.cwd, 'a.txt'), 'utf8')).toBe(['one', '2', ''].join(to));
});

test('what is too long to be shown whole can only be rejected, and the model learns why', async (t) => {
  const command = `: ${'x '.repeat(22_500)}; touch MARK`;
  const gemini = await fakeGemini(t, [reply(call('run_shell_command', { command })), reply('Oh.')]);
  const editor = await openEditor(t, { gemini, answer: ({ options }) => options[0]?.optionId });
  const { sessionId } = await editor.begin();
  await editor.say(sessionId, 'go');
  const [asked] = editor.asked as [RequestPermissionRequest];
  expect(asked.options).toEqual([{ optionId: 'no', name: 'Reject: too long to be shown whole', kind: 'reject_once' }]);
  expect(contentOf(asked)).toContain('too long');
  expect(contentOf(asked)).toContain('touch MARK');
  expect(existsSync(join(editor.at.cwd, 'MARK'))).toBe(false);
  expect(JSON.stringify(gemini.requests[1]?.results)).toContain('too long to be shown whole');
});

test('an answer that was not offered runs nothing of what is too long', async (t) => {
  const command = `touch MARK; : ${'x'.repeat(45_000)}`;
  const editor = await openEditor(t, {
    ...{ script: [reply(call('run_shell_command', { command })), reply('Oh.')], answer: () => 'once' },
  });
  await editor.say((await editor.begin()).sessionId, 'go');
  expect(existsSync(join(editor.at.cwd, 'MARK'))).toBe(false);
});

type Choose = (options: readonly PermissionOption[]) => PermissionOption | undefined;

/** As CodeCompanion and avante choose: they know one answer of a kind. */
const CHOOSERS: readonly (readonly [string, Choose])[] = [
  ['first', (options) => options.find(({ kind }) => kind === 'allow_always')],
  ['last', (options) => options.findLast(({ kind }) => kind === 'allow_always')],
];
const QUESTIONS = [
  ['an edit', call('edit_file', { file_path: 'a.txt', old_string: 'one', new_string: 'two' })],
  ['a new file', call('write_file', { file_path: 'b.txt', content: 'x' })],
  ['a command', call('run_shell_command', { command: 'git status' })],
  ['several commands', call('run_shell_command', { command: 'touch a; touch b' })],
  ['a tool of a server', call('greet')],
  ['pages', call('web_fetch', { url: 'http://127.0.0.1:9/' })],
] as const;
const CHOICES = QUESTIONS.flatMap(([what, part]) =>
  CHOOSERS.map(([which, choose]) => [what, which, part, choose] as const),
);

test.for(CHOICES)(
  'about %s, the %s answer that allows more keeps nothing for later runs',
  async ([, , part, choose], t) => {
    const again = reply(part);
    const editor = await openEditor(t, {
      options: { tools: 'all' },
      files: { 'a.txt': 'one\n', 'server.cjs': SERVER },
      script: [reply(call('read_file', { file_path: 'a.txt' })), again, again, reply('Done.')],
      answer: ({ options }) => choose(options)?.optionId,
    });
    const server = { name: 'mine', command: process.execPath, args: [join(editor.at.cwd, 'server.cjs')], env: [] };
    const { sessionId } = await editor.begin({ mcpServers: [server] });
    await editor.say(sessionId, 'go');
    expect(editor.asked).toHaveLength(1);
    expect((await callGmnIn(t, editor.at, ['permissions', 'list', '--json'])).stdout).toContain('"permissions": []');
    const [asked] = editor.asked as [RequestPermissionRequest];
    const always = asked.options.filter(({ kind }) => kind === 'allow_always').map(({ optionId }) => optionId);
    if (always.length > 1) expect(always.slice(1, -1)).toContain('project');
  },
);

const COMMAND = '/approve auto_edit';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const AS_TEXT: readonly (readonly [string, ContentBlock[]])[] = [
  ['a link alone', [{ type: 'resource_link', uri: COMMAND, name: COMMAND }]],
  ['a resource alone', [{ type: 'resource', resource: { uri: COMMAND, text: 'x' } }]],
  [
    'a link before words',
    [
      { type: 'resource_link', uri: COMMAND, name: 'a' },
      { type: 'text', text: ' please' },
    ],
  ],
  [
    'a link after blanks',
    [
      { type: 'text', text: ' \n' },
      { type: 'resource_link', uri: COMMAND, name: COMMAND },
    ],
  ],
  [
    'half of a name',
    [
      { type: 'text', text: '/' },
      { type: 'resource_link', uri: 'a:b', name: 'approve auto_edit' },
    ],
  ],
  [
    'half of a name before an empty text',
    [
      { type: 'text', text: '/' },
      { type: 'text', text: '' },
      { type: 'resource_link', uri: 'approve auto_edit', name: 'approve auto_edit' },
    ],
  ],
  [
    'half of a name before a picture',
    [
      { type: 'text', text: '/' },
      { type: 'image', mimeType: 'image/png', data: PNG },
      { type: 'resource_link', uri: 'approve auto_edit', name: 'approve auto_edit' },
    ],
  ],
  [
    'half of a name before the rest',
    [
      { type: 'text', text: '/' },
      { type: 'text', text: 'approve auto_edit' },
    ],
  ],
];

test.for(AS_TEXT)('the name of a resource is no command: %s', async ([, prompt], t) => {
  const gemini = await fakeGemini(t, [reply('Fine.')]);
  const editor = await openEditor(t, { gemini });
  const { sessionId } = await editor.begin();
  await editor.agent.request('session/prompt', { sessionId, prompt });
  expect(gemini.requests).toHaveLength(1);
  expect(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'current_mode_update')).toEqual([]);
});

test.for([
  [{ uri: 'x:y', name: '@a.txt' }, '@a.txt (x:y) is what?'],
  [{ uri: 'x:y', name: 'see (@a.txt)' }, 'see (@a.txt) (x:y) is what?'],
  [{ uri: '@a.txt', name: 'see' }, 'see (@a.txt) is what?'],
  [{ uri: 'x:y', name: 'see\u2028@"a.txt"' }, 'see\u2028@"a.txt" (x:y) is what?'],
] as const)('the name of a resource mentions nothing: %j', async ([link, text], t) => {
  const gemini = await fakeGemini(t, [reply('Fine.')]);
  const editor = await openEditor(t, { gemini, files: { 'a.txt': 'one\n' } });
  const { sessionId } = await editor.begin();
  const prompt: ContentBlock[] = [
    { type: 'resource_link', ...link },
    { type: 'text', text: ' is what?' },
  ];
  await editor.agent.request('session/prompt', { sessionId, prompt });
  expect(gemini.requests[0]?.parts).toEqual([{ text }]);
});

test('a command may name a resource, and come with a picture', async (t) => {
  const editor = await openEditor(t, { script: [] });
  const { sessionId } = await editor.begin();
  const send = (prompt: ContentBlock[]) => editor.agent.request('session/prompt', { sessionId, prompt });
  await send([
    { type: 'text', text: '/approve ' },
    { type: 'resource_link', uri: 'auto_edit', name: 'auto_edit' },
  ]);
  expect(editor.updates.at(-1)).toMatchObject({ sessionUpdate: 'config_option_update' });
});

test('a form of a server is shown with escapes, too', async () => {
  const forms: unknown[] = [];
  const request = async (_: string, form: unknown) => {
    forms.push(form);
    return { action: 'decline' };
  };
  const elicit = createEditorElicit({
    ...{ capabilities: { elicitation: { form: {} } }, sessionId: 's', request },
  } as unknown as Client);
  const schema = { type: 'object', properties: { a: { type: 'string', title: NAME, description: HOSTILE } } };
  const signal = new AbortController().signal;
  await elicit?.({ kind: 'form', server: NAME, message: HOSTILE, schema }, signal);
  for (const text of textsIn(forms)) {
    expect(countInvisible(text)).toBe(0);
    expect(text).not.toContain(BLANKS);
  }
  expect(forms).toMatchObject([{ requestedSchema: { properties: { a: { type: 'string' } } } }]);
});
