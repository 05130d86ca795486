import { expect, test } from 'vitest';
import { toPublicTool } from '../../../../src/mcp/server/protocol/handshake.ts';
import { selectServedTools } from '../../../../src/mcp/server/tools/list.ts';
import { callGmn } from '../../../support/gmn.ts';
import { type Json, serve } from '../support.ts';

const tools = selectServedTools(['chat', 'genai', 'delegate']).map((tool) =>
  toPublicTool(tool, { write: false, shell: false }),
);

test('the published tools are these', () => {
  expect(JSON.parse(JSON.stringify(tools))).toMatchSnapshot();
});

test('only a prompt, a text or a job is ever required', () => {
  const required = tools.map(({ name, inputSchema }) => [name, inputSchema.required ?? []]);
  expect(Object.fromEntries(required)).toEqual({
    chat: ['prompt'],
    'chat-reply': ['prompt'],
    generate_text: ['prompt'],
    analyze_image: ['prompt'],
    count_tokens: ['text'],
    list_models: [],
    embed_text: ['text'],
    decide: ['question', 'text'],
    get_help: [],
    delegate: ['prompt'],
    delegate_status: ['job_id'],
    delegate_jobs: [],
    delegate_cancel: ['job_id'],
    delegate_sessions: [],
  });
});

test('plain tools promise no structure, delegate tools do', () => {
  const structured = tools.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name);
  expect(structured).toEqual(['delegate', 'delegate_status', 'delegate_jobs', 'delegate_cancel', 'delegate_sessions']);
});

test('every tool has a title and says what it does to the world', () => {
  for (const { title, annotations } of tools) {
    expect(title).toMatch(/\w/);
    expect(annotations).toMatchObject({ readOnlyHint: expect.any(Boolean), openWorldHint: expect.any(Boolean) });
  }
});

test('--tools chooses groups', async (t) => {
  const server = await serve(t, { flags: ['--tools', 'delegate,chat'] });
  const { result } = await server.ask('tools/list');
  expect(result.tools.map(({ name }: { name: string }) => name)).toEqual([
    'chat',
    'chat-reply',
    'delegate',
    'delegate_status',
    'delegate_jobs',
    'delegate_cancel',
    'delegate_sessions',
  ]);
  expect((await server.call('generate_text', { prompt: 'x' })).error.code).toBe(-32602);
});

test('the annotations say whether the agent only reads', async (t) => {
  const hints = async (...flags: readonly string[]) => {
    const { tools: listed } = (await (await serve(t, { flags })).ask('tools/list')).result;
    const agents = listed.filter(({ name }: { name: string }) => ['chat', 'chat-reply', 'delegate'].includes(name));
    return agents.map(({ annotations }: { annotations: { readOnlyHint: boolean } }) => annotations.readOnlyHint);
  };
  expect(await hints()).toEqual([true, true, true]);
  expect(await hints('--allow-write')).toEqual([false, false, false]);
  expect(await hints('--allow-shell')).toEqual([false, false, false]);
});

test('who starts the server reads which model answers, as the tools name it', async (t) => {
  const { stdout } = await callGmn(t, ['mcp', 'serve', '-h']);
  const generate: Json = tools.find(({ name }) => name === 'generate_text');
  const { model } = generate.inputSchema.properties;
  expect(stdout.replace(/\s+/g, ' ')).toContain(`successor of ${model.default}`);
  expect(model.description).toMatch(/its successor answers, which metadata\.model names/);
});
