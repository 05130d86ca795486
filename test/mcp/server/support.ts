import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { TestContext } from 'vitest';
import { TOOL_GROUPS } from '../../../src/mcp/server/tool.ts';
import { selectServedTools } from '../../../src/mcp/server/tools/list.ts';
import { gate } from '../../support/gate.ts';
import { reply, type Scripted, stream } from '../../support/gemini.ts';
import { type GmnOptions, gmnCommand, place } from '../../support/gmn.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like
export type Json = any;

/** Of a server that serves all of them. */
export const TOOL_COUNT = selectServedTools(TOOL_GROUPS).length;

export interface ServeOptions extends GmnOptions {
  readonly flags?: readonly string[];
  /** Lets two servers share a home and a working directory. */
  readonly at?: ReturnType<typeof place>;
}

export interface RawServer {
  readonly child: ChildProcessWithoutNullStreams;
  readonly cwd: string;
  readonly home: string;
  /** Everything on stdout is protocol, so every line parses. */
  readonly lines: readonly Json[];
  send(text: string): void;
  /** Resolves with the whole response. */
  ask(method: string, params?: object): Promise<Json>;
  /** Resolves with the result, or the error. */
  call(name: string, args?: object, meta?: object): Promise<Json>;
  notify(method: string, params?: object): void;
  /** Resolves with the first line that matches, also one that came earlier. */
  line(wanted: (line: Json) => boolean): Promise<Json>;
  nextId(): number;
  /** Resolves with the exit code. */
  end(): Promise<number | null>;
  stderr(): string;
}

export function serveRaw(t: TestContext, options: ServeOptions = {}): RawServer {
  const { cwd, home, env } = options.at ?? place(t, options);
  const child = spawn(...gmnCommand(['mcp', 'serve', ...(options.flags ?? [])]), { cwd, env });
  t.onTestFinished(() => killed(child));
  child.stdin.on('error', () => {});
  const lines: Json[] = [];
  const watchers = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text));
    for (const watch of watchers) watch();
  });
  let errors = '';
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const line = (wanted: (line: Json) => boolean): Promise<Json> =>
    new Promise((resolve) => {
      const watch = (): void => {
        const found = lines.find(wanted);
        if (found === undefined) return;
        watchers.delete(watch);
        resolve(found);
      };
      watchers.add(watch);
      watch();
    });
  let last = 0;
  const send = (text: string): void => void child.stdin.write(text);
  const ask = (method: string, params?: object): Promise<Json> => {
    last += 1;
    const id = last;
    send(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return line((found) => found.id === id && found.method === undefined);
  };
  return {
    child,
    cwd,
    home,
    lines,
    send,
    ask,
    line,
    nextId: () => last + 1,
    async call(name, args = {}, meta) {
      const answer = await ask('tools/call', { name, arguments: args, ...(meta ? { _meta: meta } : {}) });
      return answer.result ?? answer;
    },
    notify: (method, params) => send(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`),
    async end() {
      const closed = once(child, 'close');
      child.stdin.end();
      const [exitCode] = await closed;
      return exitCode;
    },
    stderr: () => errors,
  };
}

/** Until the process is gone it may write into the directory that is about to be removed. */
async function killed(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Also sends `initialize`. */
export async function serve(t: TestContext, options: ServeOptions = {}): Promise<RawServer> {
  const server = serveRaw(t, options);
  await server.ask('initialize');
  return server;
}

/** The SDK's own client. */
export async function sdkClient(t: TestContext, options: ServeOptions & { readonly mode?: 'legacy' | 'auto' } = {}) {
  const { cwd, home, env } = options.at ?? place(t, options);
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: options.mode ?? 'legacy' } });
  const [command, args] = gmnCommand(['mcp', 'serve', ...(options.flags ?? [])]);
  await client.connect(new StdioClientTransport({ command, args, cwd, env, stderr: 'ignore' }));
  t.onTestFinished(() => client.close());
  return { client, cwd, home };
}

/** Resolves with the URL and the token. */
export async function serveHttp(t: TestContext, options: ServeOptions = {}) {
  const { cwd, home, env } = options.at ?? place(t, options);
  const child = spawn(...gmnCommand(['mcp', 'serve', '--http', ...(options.flags ?? [])]), { cwd, env });
  t.onTestFinished(() => killed(child));
  let errors = '';
  const said = new Promise<void>((resolve) => {
    child.stderr.on('data', (data: Buffer) => {
      errors += data.toString();
      if (errors.split('\n').length > 2) resolve();
    });
  });
  await Promise.race([said, once(child, 'exit')]);
  const url = /http:\S+/.exec(errors)?.[0] ?? '';
  const token = /Bearer (\S+)/.exec(errors)?.[1] ?? '';
  return { child, url, token, cwd, home, stderr: () => errors };
}

export async function httpClient(
  t: TestContext,
  { url, token }: { readonly url: string; readonly token: string },
  mode: 'legacy' | 'auto' = 'legacy',
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  t.onTestFinished(() => client.close());
  return client;
}

/** Answers with the last text of the last content, so that each caller can recognize its own. */
export const echo: Scripted = (response, request) => reply(`echo: ${request.prompt}`)(response, request);

/** The model that a request asks. */
export function readModel(path: string): string | undefined {
  return /models\/([^:]+):/.exec(path)?.[1];
}

/** Begins an answer and then stalls; `closed` resolves when the client has disconnected. */
export function silence(...texts: readonly string[]): {
  readonly scripted: Scripted;
  readonly begun: Promise<void>;
  readonly closed: Promise<void>;
} {
  const [begun, closed] = [gate(), gate()];
  const scripted: Scripted = (response, request) =>
    stream(...texts, begun.open)(response.on('close', closed.open), request);
  return { scripted, begun: begun.opened, closed: closed.opened };
}
