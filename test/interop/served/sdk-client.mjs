import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PACKAGE = 'node_modules/@modelcontextprotocol/client/dist';
const HELLO = 'Hello! How can I help you today?';

/** The SDK's client as it comes from the registry, not from our bundle. It checks every result against its schema. */
export async function sdkClient({ caches, served, place, row }) {
  const load = (file) => import(pathToFileURL(join(caches.own, PACKAGE, file)).href);
  const { Client, StreamableHTTPClientTransport } = await load('index.mjs');
  const { StdioClientTransport } = await load('stdio.mjs');
  const [command, ...args] = served.stdio;
  const headers = { authorization: `Bearer ${served.token}` };
  const transports = {
    stdio: () => new StdioClientTransport({ command, args, ...place, stderr: 'ignore' }),
    http: () => new StreamableHTTPClientTransport(new URL(served.http), { requestInit: { headers } }),
  };
  for (const [transport, open] of Object.entries(transports)) {
    for (const mode of ['legacy', 'auto']) {
      const client = new Client({ name: 'interop', version: '1' }, { versionNegotiation: { mode } });
      await row('SDK client 2.4.0', `${transport}, ${mode}`, 'connects', () => client.connect(open()));
      for (const [what, check] of Object.entries(checks(client, served.tools)))
        await row('SDK client 2.4.0', `${transport}, ${mode}`, what, check);
      await client.close();
    }
  }
}

function checks(client, names) {
  const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
  return {
    'lists everything': async () => {
      deepEqual(
        (await client.listTools()).tools.map(({ name }) => name),
        names,
      );
      equal((await client.listResources()).resources.length, 5);
      equal((await client.listResourceTemplates()).resourceTemplates.length, 3);
      equal((await client.listPrompts()).prompts.length, 3);
    },
    'progress only grows': async () => {
      const told = [];
      const onprogress = ({ progress }) => void told.push(progress);
      const { content } = await call('generate_text', { prompt: 'Hello' }, { onprogress });
      equal(content[0].text, HELLO);
      ok(told.length > 0);
      deepEqual(
        told,
        told.toSorted((one, other) => one - other),
      );
    },
    'a job from its beginning to its end': async () => {
      const { structuredContent: job } = await call('delegate', { prompt: 'Hello', mode: 'async' });
      equal(job.status, 'queued');
      const { structuredContent: over } = await call('delegate_status', { job_id: job.job_id, wait_ms: 30_000 });
      deepEqual([over.status, over.output], ['completed', HELLO]);
      const { structuredContent: list } = await call('delegate_jobs', { status_filter: 'completed' });
      ok(list.jobs.some(({ job_id }) => job_id === job.job_id));
    },
    'a session goes on': async () => {
      const first = await call('delegate', { prompt: 'Hello' });
      const { session_id } = first.structuredContent;
      const second = await call('delegate', { prompt: 'Hello', session_id });
      equal(second.structuredContent.session_id, session_id);
      const { sessions } = (await call('delegate_sessions', {})).structuredContent;
      equal(sessions.find((session) => session.session_id === session_id)?.turn_count, 2);
    },
    'a hundred calls at once': async () => {
      const results = await Promise.all(Array.from({ length: 100 }, () => call('generate_text', { prompt: 'Hello' })));
      ok(results.every(({ content }) => content[0].text === HELLO));
    },
    'what is not there is an error': async () => {
      await rejects(client.readResource({ uri: 'gmn://nothing' }));
      await rejects(client.getPrompt({ name: 'nothing' }));
      equal(
        (await call('delegate', { prompt: 'x', session_id: '00000000-0000-4000-8000-000000000000' })).isError,
        true,
      );
    },
  };
}
