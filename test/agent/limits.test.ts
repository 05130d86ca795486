import { expect, test } from 'vitest';
import { type Agent, createMemoryHistory } from '../../src/agent/agent.ts';
import { place } from '../tools/place.ts';
import { agentOf, call, ok, play, scripted, tool } from './support.ts';

function outcomes(events: Awaited<ReturnType<typeof play>>['events']) {
  return events.flatMap((event) => (event.type === 'answer' ? [event.outcome] : []));
}

test('after 200 calls in one turn the rest are not run, and a new turn begins anew', async () => {
  let runs = 0;
  const look = tool('look', 'read', () => {
    runs += 1;
    return ok('');
  });
  const calls = (from: number) => ({ calls: Array.from({ length: 60 }, (_, n) => call('look', { n: from + n })) });
  const replies = [0, 60, 120, 180].map(calls);
  const { events } = await play(agentOf(scripted([...replies, { text: ['ok'] }]), [look]), createMemoryHistory());
  expect(runs).toBe(200);
  expect(outcomes(events).slice(199, 201)).toEqual([
    { ok: true, response: { output: '' } },
    {
      ok: false,
      response: { error: 'at most 200 calls are run until the user speaks again; answer with what you have' },
    },
  ]);
  await play(agentOf(scripted([calls(0), { text: ['ok'] }]), [look]), createMemoryHistory());
  expect(runs).toBe(260);
});

test.for([
  ['read_file', ['a.txt', './a.txt', 'ROOT/a.txt', 'x/../a.txt'].map((path) => ({ path }))],
  [
    'read_file',
    [{ file_path: 'a.txt' }, { path: 'a.txt' }, { absolute_path: 'a.txt' }, { file_path: './/a.txt', x: 1 }],
  ],
  ['list_directory', [{ dir_path: '.' }, { path: './' }, { path: 'ROOT' }, { dir_path: 'x/..' }]],
  [
    'glob',
    [{ pattern: '*' }, { pattern: '*', dir_path: '.' }, { pattern: '*', path: 'ROOT' }, { pattern: '*', path: null }],
  ],
  ['write_file', [1, 2, 3, 4].map((n) => ({ path: `${'./'.repeat(n)}new.txt`, content: 'x' }))],
] as const)('the same call of %s is seen through its spellings', async ([name, spellings]) => {
  const { root, tools } = await place({ 'a.txt': 'a\n' });
  const calls = spellings.map((args) => call(name, JSON.parse(JSON.stringify(args).replaceAll('ROOT', root))));
  const model = scripted([...calls.map((one) => ({ calls: [one] })), { text: ['never'] }]);
  const { events, error } = await play(agentOf(model, [...tools.values()]), createMemoryHistory());
  expect(outcomes(events).map(({ response }) => String(response.error).startsWith('the same call was made'))).toEqual([
    false,
    false,
    true,
    true,
  ]);
  expect(error).toMatchObject({ fault: 'limit' });
});

test('calls of other files, or with other contents, are other calls', async () => {
  const { tools } = await place({ 'a.txt': 'a\n', 'b/a.txt': 'b\n' });
  const paths = ['a.txt', 'b/a.txt', 'A.txt', 'a.txt/', 'a.tx'];
  const calls = paths.map((path) => call('read_file', { path, start_line: 1 }));
  const model = scripted([{ calls }, { calls: calls.slice(0, 2) }, { text: ['ok'] }]);
  const { error } = await play(agentOf(model, [...tools.values()]), createMemoryHistory());
  expect(error).toBeUndefined();
});

test('what a tool has spent itself is part of the usage', async () => {
  const search = tool('search', 'network', () => ({
    ...ok(''),
    usage: { promptTokenCount: 100, totalTokenCount: 300 },
  }));
  const model = scripted([{ calls: [call('search')] }, { text: ['ok'] }]);
  const { events } = await play(agentOf(model, [search]), createMemoryHistory());
  expect(events.at(-1)).toMatchObject({ type: 'end', usage: { promptTokenCount: 120, totalTokenCount: 324 } });
});

test('of many readers at once, eight run at a time', async () => {
  let now = 0;
  let most = 0;
  const look = tool('look', 'read', async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    return ok('');
  });
  const calls = Array.from({ length: 40 }, (_, n) => call('look', { n }));
  const { events } = await play(agentOf(scripted([{ calls }, { text: ['ok'] }]), [look]), createMemoryHistory());
  expect(outcomes(events)).toEqual(Array(40).fill(ok('')));
  expect(most).toBe(8);
});

test('readers that have not begun when the turn is ended do not begin', async () => {
  const stop = new AbortController();
  let begun = 0;
  const look = tool('look', 'read', async () => {
    begun += 1;
    stop.abort(new Error('stopped'));
    return ok('');
  });
  const calls = Array.from({ length: 40 }, (_, n) => call('look', { n }));
  await play(agentOf(scripted([{ calls }]), [look]), createMemoryHistory(), { signal: stop.signal });
  expect(begun).toBeLessThanOrEqual(8);
});

test('a search on the web does not make the same question a new one', async () => {
  const tools = [tool('look', 'read'), tool('search', 'network')];
  const lines = [1, 2, 3].flatMap((n) => [call('look'), call('search', { n })]);
  const model = scripted([...lines.map((one) => ({ calls: [one] })), { text: ['done'] }]);
  const { events } = await play(agentOf(model, tools), createMemoryHistory());
  expect(outcomes(events).map((one) => one.ok)).toEqual([true, true, true, true, false, true]);
});

test('what a tool notes is kept beside the word that its arguments were changed, and the event has those that ran', async () => {
  const run = tool('run', 'execute', () => ({ ok: true, response: { output: '', note: 'Stopped: 7' } }));
  const approve: Agent['approve'] = async () => ({ kind: 'run-edited', args: { command: 'ls' } });
  const model = scripted([{ calls: [call('run', { command: 'rm' })] }, { text: ['ok'] }]);
  const { events } = await play(agentOf(model, [run], { approve }), createMemoryHistory());
  expect(events.filter(({ type }) => type === 'answer')).toEqual([
    {
      type: 'answer',
      id: 'c1.0',
      name: 'run',
      args: { command: 'ls' },
      outcome: {
        ok: true,
        response: {
          output: '',
          editedArgs: { command: 'ls' },
          note: 'Stopped: 7\nthe user changed the arguments',
        },
      },
    },
  ]);
});
