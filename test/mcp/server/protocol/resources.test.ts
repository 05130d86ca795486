import { expect, test } from 'vitest';
import { fakeGemini } from '../../../support/gemini.ts';
import { runGmn } from '../../../support/gmn.ts';
import { echo, sdkClient, serve } from '../support.ts';

test('every resource that is listed can be read', async (t) => {
  const { client, cwd } = await sdkClient(t, { gemini: await fakeGemini(t, [echo]) });
  await client.callTool({ name: 'delegate', arguments: { prompt: 'x' } });
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual([
    'gmn://models',
    'gmn://capabilities',
    'gmn://sessions',
    'gmn://jobs',
    'gmn://help',
  ]);
  const read = async (uri: string): Promise<string> => {
    const [content] = (await client.readResource({ uri })).contents;
    return content !== undefined && 'text' in content ? content.text : '';
  };
  expect(JSON.parse(await read('gmn://models')).default).toBe('gemini-2.5-flash');
  expect(JSON.parse(await read('gmn://capabilities'))).toMatchObject({
    server: { name: 'gmn' },
    allowed: { read: true, write: false, shell: false },
  });
  expect(JSON.parse(await read('gmn://sessions')).sessions[0]).toMatchObject({ turn_count: 1 });
  const [job] = JSON.parse(await read('gmn://jobs')).jobs;
  expect(JSON.parse(await read(`gmn://jobs/${job.job_id}`))).toMatchObject({ output: 'echo: x' });
  const help = await read('gmn://help');
  expect(help).toContain('--allow-write');
  expect(help).toContain(cwd);
});

test('resources have templates, and what is no resource is an error', async (t) => {
  const server = await serve(t);
  const { resourceTemplates } = (await server.ask('resources/templates/list')).result;
  expect(resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate)).toEqual([
    'gmn://answers/{id}/{page}',
    'gmn://jobs/{job_id}',
    'gmn://jobs/{job_id}/{page}',
  ]);
  for (const uri of ['gmn://jobs/../../../etc/passwd', 'file:///etc/passwd', 'gmn://answers/x/2', '']) {
    expect([uri, (await server.ask('resources/read', { uri })).error.code]).toEqual([uri, -32602]);
  }
});

test('every prompt that is listed can be got', async (t) => {
  const server = await serve(t);
  const { prompts } = (await server.ask('prompts/list')).result;
  expect(prompts.map(({ name }: { name: string }) => name)).toEqual(['brainstorm', 'code_review', 'explain']);
  for (const { name, arguments: list } of prompts) {
    const args = Object.fromEntries(list.map((argument: { name: string }) => [argument.name, `<${argument.name}>`]));
    const { messages } = (await server.ask('prompts/get', { name, arguments: args })).result;
    expect(messages).toHaveLength(1);
    for (const value of Object.values(args)) expect(messages[0].content.text).toContain(value);
  }
});

test('gmn mcp-server is the same server', async (t) => {
  const { stdout, exitCode } = await runGmn(t, ['mcp-server'], {
    stdin: '{"jsonrpc":"2.0","id":1,"method":"initialize"}\n',
  });
  expect(JSON.parse(stdout).result.serverInfo.name).toBe('gmn');
  expect(exitCode).toBe(0);
});

test.for([
  [['--tools', 'chat,nothing'], '--tools: there are no tools "nothing"'],
  [['--root', 'no-such-directory'], '--root: no-such-directory is not a directory'],
  [['--max-running', '0'], '--max-running must be 1 to 10000'],
  [['--http', '70000'], '--http 70000 is not a port'],
] as const)('%j is refused before anyone is served', async ([flags, message], t) => {
  const { stdout, stderr, exitCode } = await runGmn(t, ['mcp', 'serve', ...flags], { stdin: '' });
  expect(stderr).toContain(`Error: ${message}`);
  expect([stdout, exitCode]).toEqual(['', 1]);
});
