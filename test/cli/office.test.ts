import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pipedChat } from '../support/chat.ts';
import { answerEach, call, fakeGemini, reply } from '../support/gemini.ts';
import { callGmn, callGmnIn, place } from '../support/gmn.ts';
import { ole, zip } from '../support/office.ts';

const DOCX = zip('[Content_Types].xml', 'word/document.xml');
const DOCX_TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const files = { 'report.docx': DOCX, 'old.xls': ole() };

test.for([
  ['gemini-2.5-flash', [], 1],
  ['gemini-3.8-flash', [], 1],
  ['gemini-4-argon', [], 1],
  ['gemini-4-carbon', [], 0],
  ['gemini-4-hydrogen', [], 0],
  ['gemini-4-neon', [], 0],
  ['gemini-9-new', [], 0],
  ['gemini-4-carbon', ['--fallback', 'gemini-3.8-flash'], 1],
] as const)('%s %j: an Office file gives exit code %d', async ([model, more, expected], t) => {
  const args = ['-m', model, ...more, '-f', 'report.docx', 'summarise', '--dry-run'];
  const { exitCode, stdout, stderr } = await callGmn(t, args, {
    env: { GEMINI_API_KEY: 'test-key-0123456789' },
    files,
  });
  expect(exitCode).toBe(expected);
  if (expected === 0) expect(JSON.parse(stdout).body.contents[0].parts[0].inlineData.mimeType).toBe(DOCX_TYPE);
  else expect(stderr).toMatch(/^Error: report\.docx is an Office file, which .* does not read\n.*-m gemini-4-hydrogen/);
});

test('in a chat, the model that is in use decides whether an Office file can be sent', async (t) => {
  const gemini = await fakeGemini(t, [reply('a')]);
  const lines = ['/file report.docx', 'x', '/model gemini-4-carbon', '/file report.docx', 'y'];
  const { stderr } = await pipedChat(t, lines, { gemini, files });
  expect(stderr).toContain('Error: report.docx is an Office file, which gemini-2.5-flash does not read');
  expect(stderr).toContain('No longer attached: report.docx');
  expect(gemini.requests.map(({ body }) => body.contents[0].parts)).toEqual([
    [{ inlineData: { mimeType: DOCX_TYPE, data: DOCX.toString('base64') } }, { text: 'y' }],
  ]);
});

test('a row of a batch asks its own model, also about the files of -f', async (t) => {
  const file = { prompt: 'x', files: ['report.docx'] };
  const inputs = {
    'rows.jsonl': [
      { id: 'default', ...file },
      { id: 'carbon', ...file, model: 'gemini-4-carbon' },
    ],
    'shared.jsonl': [
      { id: 'carbon', prompt: 'x' },
      { id: 'flash', prompt: 'x', model: 'gemini-3.8-flash' },
    ],
  };
  const toLines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n');
  const texts = Object.entries(inputs).map(([name, rows]) => [name, toLines(rows)] as const);
  const gemini = await fakeGemini(
    t,
    answerEach((prompt) => `re: ${prompt}`),
  );
  const setting = place(t, { gemini, files: { ...files, ...Object.fromEntries(texts) } });
  const run = async (input: string, ...args: readonly string[]) => {
    await callGmnIn(t, setting, ['batch', input, '--output-file', `${input}.out`, ...args]);
    const lines = readFileSync(join(setting.cwd, `${input}.out`), 'utf8')
      .trimEnd()
      .split('\n');
    return Object.fromEntries(
      lines.map((line) => JSON.parse(line)).map(({ id, response, error }) => [id, error?.message ?? response]),
    );
  };
  expect(await run('rows.jsonl')).toEqual({
    default: 'report.docx is an Office file, which gemini-2.5-flash does not read',
    carbon: 're: x',
  });
  expect(await run('shared.jsonl', '-m', 'gemini-4-carbon', '-f', 'report.docx')).toEqual({
    carbon: 're: x',
    flash: 'report.docx is an Office file, which gemini-3.8-flash does not read',
  });
});

test('no tool hands Office files to the model', async (t) => {
  const made = call('read_file', { file_path: 'report.docx' });
  const gemini = await fakeGemini(t, [reply(made), reply('done')]);
  await callGmn(t, ['-m', 'gemini-4-argon', '--tools', 'read', 'read it'], { gemini, files });
  const sent = JSON.stringify(gemini.requests[1]?.body.contents);
  expect(sent).toContain('is a binary file');
  expect(sent).not.toContain(DOCX_TYPE);
});
