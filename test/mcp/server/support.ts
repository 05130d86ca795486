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
import { type GmnOptions, gmnCommand, openGmn, place } from '../../support/gmn.ts';

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

/** In a process of its own. */
export interface StartedServer extends RawServer {
  readonly child: ChildProcessWithoutNullStreams;
}

export function startServer(t: TestContext, options: ServeOptions = {}): StartedServer {
  const { cwd, home, env } = options.at ?? place(t, options);
  const child = spawn(...gmnCommand(serveLine(options)), { cwd, env });
  t.onTestFinished(() => killed(child));
  child.stdin.on('error', () => {});
  let errors = '';
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const closed = once(child, 'close').then(([exitCode]) => exitCode);
  const { take, ...talk } = createTalk(child.stdin, closed);
  createInterface({ input: child.stdout }).on('line', take);
  return { child, cwd, home, stderr: () => errors, ...talk };
}

/** As `startServer`, but in this process where it can be. */
export function serveRaw(t: TestContext, options: ServeOptions = {}): RawServer {
  const at = options.at ?? place(t, options);
  let [rest, errors] = ['', ''];
  const { input, ended } = openGmn(t, at, serveLine(options), (name, text) => {
    if (name === 'err') {
      errors += text;
      return;
    }
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
  const { take, ...talk } = createTalk(
    input,
    ended.then(({ exitCode }) => exitCode),
  );
  return { cwd: at.cwd, home: at.home, stderr: () => errors, ...talk };
}

function serveLine({ flags = [] }: ServeOptions): readonly string[] {
  return ['mcp', 'serve', ...flags];
}

/** Both directions of a connection. `take` is passed each line that comes. */
function createTalk(input: { write(text: string): unknown; end(): unknown }, ended: Promise<number | null>) {
  const lines: Json[] = [];
  const watchers = new Set<(line: Json) => void>();
  const line = async (wanted: (line: Json) => boolean): Promise<Json> =>
    lines.find(wanted) ??
    new Promise((resolve) => {
      const watch = (next: Json): void => {
        if (!wanted(next)) return;
        watchers.delete(watch);
        resolve(next);
      };
      watchers.add(watch);
    });
  let last = 0;
  const send = (text: string): void => void input.write(text);
  const ask = (method: string, params?: object): Promise<Json> => {
    last += 1;
    const id = last;
    send(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return line((found) => found.id === id && found.method === undefined);
  };
  return {
    take(text: string): void {
      const next = JSON.parse(text);
      lines.push(next);
      for (const watch of watchers) watch(next);
    },
    lines,
    send,
    ask,
    line,
    nextId: () => last + 1,
    async call(name: string, args: object = {}, meta?: object): Promise<Json> {
      const answer = await ask('tools/call', { name, arguments: args, ...(meta ? { _meta: meta } : {}) });
      return answer.result ?? answer;
    },
    notify: (method: string, params?: object) => send(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`),
    end(): Promise<number | null> {
      input.end();
      return ended;
    },
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

/** The same in a process of its own. */
export async function startServing(t: TestContext, options: ServeOptions = {}): Promise<StartedServer> {
  const server = startServer(t, options);
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
  const at = options.at ?? place(t, options);
  const notice = createNotice();
  const { ended } = openGmn(t, at, httpLine(options), (name, text) => name === 'err' && notice.add(text));
  return { ...(await notice.read(ended)), cwd: at.cwd, home: at.home };
}

/** The same in a process of its own. */
export async function startHttp(t: TestContext, options: ServeOptions = {}) {
  const { cwd, env } = place(t, options);
  const child = spawn(...gmnCommand(httpLine(options)), { cwd, env });
  t.onTestFinished(() => killed(child));
  const notice = createNotice();
  child.stderr.on('data', (data: Buffer) => notice.add(data.toString()));
  return { child, ...(await notice.read(once(child, 'exit'))) };
}

function httpLine({ flags = [] }: ServeOptions): readonly string[] {
  return ['mcp', 'serve', '--http', ...flags];
}

/** What a server says of itself at its start. */
function createNotice() {
  const complete = gate();
  let errors = '';
  return {
    add(text: string): void {
      errors += text;
      if (errors.split('\n').length > 2) complete.open();
    },
    async read(ended: Promise<unknown>) {
      await Promise.race([complete.opened, ended]);
      const url = /http:\S+/.exec(errors)?.[0] ?? '';
      const token = /Bearer (\S+)/.exec(errors)?.[1] ?? '';
      return { url, token, stderr: () => errors };
    },
  };
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
