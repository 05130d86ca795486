// gmn's own server layer — its http server, guard, sessions, message checks, protocol and tools — with the tools, resources
// and prompts beside it that the suite wants to find.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { root } from '../../../scripts/project.mjs';
import { contentsOf, filledFixture, PROMPTS, RESOURCES, TEMPLATES } from './fixture-content.mjs';
import { fixtureTools } from './fixture-tools.mjs';

/** Starts it on a free port. Gives its address, and `close`. */
export async function serveFixture() {
  const scratch = mkdtempSync(join(tmpdir(), 'gmn-conformance-server-'));
  const { sdk, own } = await load(scratch);
  const contexts = new AsyncLocalStorage();
  const states = sdk.createRequestStateCodec({ key: randomBytes(32) });
  const parts = { sdk, own, states, context: () => contexts.getStore() };
  const service = own.openMcpService({
    name: 'gmn',
    version: '0',
    groups: own.TOOL_GROUPS,
    roots: [],
    startDirectory: scratch,
    allowed: { write: false, shell: false },
    clock: own.systemClock,
    jobDirectory: () => join(scratch, 'jobs'),
    maxRunning: 1,
    maxQueued: 1,
    openEngine: async () => ({ describeModels: () => ({ text: '', document: {} }) }),
  });
  const token = randomBytes(16).toString('hex');
  const server = await own.openHttpService(
    { ...own.sdk, ...own.sdkHttp, Server: fixtureServer(parts, contexts) },
    { ...service, tools: [...service.tools, ...fixtureTools(parts)] },
    { port: 0, token, trace: () => {} },
  );
  const relay = await tokenRelay(server.url, token);
  return {
    url: relay.url,
    async close() {
      relay.close();
      await server.close();
      await own.closeMcpService(service);
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** The SDK's server, in which every handler of gmn's stays, and knows the suite's things beside its own. */
function fixtureServer({ sdk, states, context }, contexts) {
  const around = {
    'resources/list': (own) => async (asked, known) => added(await own(asked, known), 'resources', RESOURCES),
    'resources/templates/list': (own) => async (asked, known) =>
      added(await own(asked, known), 'resourceTemplates', TEMPLATES),
    'resources/read': (own) => async (asked, known) => {
      const contents = contentsOf(asked.params.uri);
      return contents === undefined ? own(asked, known) : { contents };
    },
    'prompts/list': (own) => async (asked, known) => added(await own(asked, known), 'prompts', PROMPTS),
    'prompts/get': (own) => async (asked, known) =>
      filledFixture(asked.params.name, asked.params.arguments ?? {}, { sdk, context }) ?? own(asked, known),
  };
  return class extends sdk.Server {
    constructor(info, { capabilities, ...options }) {
      const more = { logging: {}, completions: {}, resources: { ...capabilities.resources, subscribe: true } };
      super(info, { ...options, capabilities: { ...capabilities, ...more }, requestState: { verify: states.verify } });
      super.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }));
      super.setRequestHandler('resources/subscribe', () => ({}));
      super.setRequestHandler('resources/unsubscribe', () => ({}));
    }

    setRequestHandler(method, handler, ...rest) {
      const wrapped = around[method]?.(handler) ?? handler;
      const noted = (asked, known) => contexts.run(known, () => wrapped(asked, known));
      super.setRequestHandler(method, noted, ...rest);
    }
  };
}

function added(result, key, more) {
  return { ...result, [key]: [...result[key], ...more] };
}

/** The suite has no way to send a token. This adds it, and changes nothing else: the Host and Origin of the caller arrive. */
async function tokenRelay(target, token) {
  const relay = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token}` };
    // A connection each: none is taken from one that has just ended.
    const onward = request(target, { method: asked.method, headers, setHost: false, agent: false }, (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      answer.flushHeaders();
      reply.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    asked.pipe(onward);
  });
  await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${relay.address().port}/mcp`,
    close() {
      relay.close();
      relay.closeAllConnections();
    },
  };
}

/** The sources themselves, bundled: the fixtures must share one copy of the SDK with them. */
async function load(scratch) {
  const outfile = join(scratch, 'server.mjs');
  const files = {
    'src/mcp/server/transport/http.ts': ['openHttpService'],
    'src/mcp/server/service.ts': ['openMcpService', 'closeMcpService'],
    'src/mcp/server/tool.ts': ['serverTool', 'TOOL_GROUPS'],
    'src/mcp/server/tools/results.ts': ['plainFailure'],
    'src/mcp/server/sdk.ts': ['sdk'],
    'src/mcp/server/sdk-http.ts': ['sdkHttp'],
    'src/platform/runtime/clock.ts': ['systemClock'],
    'src/core/error.ts': ['AppError'],
  };
  const own = Object.entries(files).map(([file, names]) => `export { ${names.join(', ')} } from './${file}';`);
  await build({
    absWorkingDir: root,
    stdin: {
      contents: [...own, `export * as makers from '@modelcontextprotocol/server';`].join('\n'),
      resolveDir: root,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.18',
    mainFields: ['module', 'main'],
    outfile,
    logLevel: 'error',
  });
  const { makers, ...rest } = await import(pathToFileURL(outfile).href);
  return { sdk: makers, own: rest };
}
