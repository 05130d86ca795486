import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { join } from 'node:path';
import { runNode } from '../processes.mjs';

const HELLO = 'Hello! How can I help you today?';
const LAUNCHER = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js';

/** The MCP inspector's CLI: what it lists and calls, its strict look at the schemas, and its load. */
export async function inspector({ caches, served, place, row }) {
  const ask = async (target, era, args) => {
    const line = [
      join(caches.own, LAUNCHER),
      '--cli',
      ...target,
      '--protocol-era',
      era,
      ...args,
      '--format',
      'json',
      '-q',
    ];
    const { exitCode, out, errors } = await runNode(line, place);
    return { exitCode, errors, result: out === '' ? undefined : JSON.parse(out).result };
  };
  const targets = {
    stdio: served.stdio,
    http: [served.http, '--transport', 'http', '--header', `Authorization: Bearer ${served.token}`],
  };
  for (const [transport, target] of Object.entries(targets)) {
    for (const era of ['legacy', 'modern']) {
      const done = async (...args) => {
        const { exitCode, errors, result } = await ask(target, era, args);
        equal(exitCode, 0, errors);
        return result;
      };
      const call = (name, args) => [
        '--method',
        'tools/call',
        '--tool-name',
        name,
        '--tool-args-json',
        JSON.stringify(args),
      ];
      const asked = (...args) => ask(target, era, args);
      for (const [what, check] of Object.entries(checks({ done, call, ask: asked, names: served.tools })))
        await row('inspector 2.12.0', `${transport}, ${era}`, what, check);
    }
  }
}

function checks({ done, call, ask, names }) {
  return {
    'tools/list --strict': async () => {
      const { tools } = await done('--method', 'tools/list', '--strict');
      deepEqual(
        tools.map(({ name }) => name),
        names,
      );
      ok(tools.every(({ title, annotations }) => title && annotations));
    },
    'a plain call': async () => {
      const { content, structuredContent } = await done(...call('generate_text', { prompt: 'Hello' }));
      deepEqual([content, structuredContent], [[{ type: 'text', text: HELLO }], undefined]);
    },
    'a delegation': async () => {
      const { content, structuredContent } = await done(...call('delegate', { prompt: 'Hello' }));
      deepEqual([content[0].text, structuredContent.status, structuredContent.output], [HELLO, 'completed', HELLO]);
    },
    'a failure is a result': async () => {
      const { exitCode, result } = await ask(...call('delegate', { prompt: 'x', working_directory: '/' }));
      deepEqual([exitCode, result.isError, result.structuredContent.code], [5, true, 'INVALID_DIRECTORY']);
    },
    resources: async () => {
      const { resources } = await done('--method', 'resources/list');
      equal(resources.length, 5);
      const { contents } = await done('--method', 'resources/read', '--uri', 'gmn://help');
      match(contents[0].text, /^# gmn/);
    },
    prompts: async () => {
      const { prompts } = await done('--method', 'prompts/list');
      equal(prompts.length, 3);
      const got = await done('--method', 'prompts/get', '--prompt-name', 'explain', '--prompt-args', 'topic=monads');
      match(got.messages[0].content.text, /monads/);
    },
    '--load, 50 calls, 8 at once': async () => {
      const load = ['--load', '--load-requests', '50', '--load-concurrency', '8'];
      const { requests, ok: good, errorRate } = await done(...call('generate_text', { prompt: 'Hello' }), ...load);
      deepEqual([requests, good, errorRate], [50, 50, 0]);
    },
  };
}
