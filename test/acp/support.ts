import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  type AnyMessage,
  type ClientApp,
  type ClientCapabilities,
  type ClientContext,
  client,
  type NewSessionResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from '@agentclientprotocol/sdk';
import { type Schema, Validator } from '@cfworker/json-schema';
import type { TestContext } from 'vitest';
import type { AcpOptions } from '../../src/acp/open.ts';
import { serveEditor } from '../../src/acp/server.ts';
// What the first session loads: a busy machine takes longer for it than a test has.
import '../../src/acp/open.ts';
import '../../src/engine/tools/servers/run-servers.ts';
import '../../src/approval/approve.ts';
import '../../src/tools/list.ts';
import { resolveHomes as findHomes } from '../../src/config/home.ts';
import { loadSettings } from '../../src/config/settings.ts';
import type { App } from '../../src/core/app.ts';
import { tryParseJson } from '../../src/core/json.ts';
import { createApp, processWorld } from '../../src/platform/app.ts';
import { fakeGemini, type Scripted } from '../support/gemini.ts';
import { type GmnOptions, gmnCommand, place, startProgram } from '../support/gmn.ts';

// biome-ignore lint/suspicious/noExplicitAny: a schema is looked into freely
type Json = any;

/** With what its formats of numbers mean: clients in other languages read them into so many bits. */
const SCHEMA: Json = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('@agentclientprotocol/sdk/schema/v1/schema.json'), 'utf8'),
  (_, value) => (value?.format === 'uint32' ? { ...value, maximum: 0xffffffff } : value),
);

const VALIDATORS = new Map<string, Validator>();

function validator(name: string, schema: () => object): Validator {
  const known = VALIDATORS.get(name) ?? new Validator({ ...schema(), $defs: SCHEMA.$defs } as Schema, '2020-12', true);
  VALIDATORS.set(name, known);
  return known;
}

/** The definition of what this side sends for a method: its params, or the result of a request to it. */
function findDefinition(method: string, suffix: string): string {
  const found = Object.entries<Json>(SCHEMA.$defs).find(
    ([name, definition]) => definition['x-method'] === method && name.endsWith(suffix),
  );
  if (found === undefined) throw new Error(`the schema has no ${suffix} of ${method}`);
  return found[0];
}

/** Throws unless the line is a message of the protocol; the result of a request is compared with what its method gives. */
export function createLineCheck() {
  const asked = new Map<unknown, string>();
  const requireValid = (name: string, schema: () => object, value: unknown, line: string): void => {
    const { valid, errors } = validator(name, schema).validate(value);
    if (!valid)
      throw new Error(`not of the protocol (${name}): ${line.slice(0, 500)}\n${JSON.stringify(errors.at(-1))}`);
  };
  return {
    noteSent(message: Json): void {
      if (message?.method !== undefined && message.id !== undefined) asked.set(message.id, message.method);
    },
    check(line: string): Json {
      const message: Json = JSON.parse(line);
      // An escaped half of a surrogate pair; what follows an escaped backslash is text.
      if (line.replaceAll('\\\\', '').includes('\\ud')) throw new Error(`not Unicode: ${line}`);
      const [agent, , protocol] = SCHEMA.anyOf;
      if (message.method === '$/cancel_request') requireValid('protocol', () => protocol, message, line);
      else requireValid('agent', () => agent, message, line);
      if (message.method !== undefined) {
        if (message.method.startsWith('$/')) return message;
        const suffix = message.id === undefined ? 'Notification' : 'Request';
        const name = findDefinition(message.method, suffix);
        requireValid(name, () => ({ $ref: `#/$defs/${name}` }), message.params, line);
      } else if (message.result !== undefined) {
        const name = findDefinition(asked.get(message.id) ?? '?', 'Response');
        requireValid(name, () => ({ $ref: `#/$defs/${name}` }), message.result, line);
      } else if (!Number.isInteger(message.error?.code)) throw new Error(`neither result nor error: ${line}`);
      return message;
    },
  };
}

export type Answer = (request: RequestPermissionRequest) => string | undefined | Promise<string | undefined>;

export interface EditorOptions extends GmnOptions {
  readonly options?: AcpOptions;
  readonly capabilities?: ClientCapabilities;
  /** The id of the chosen option, or undefined for `cancelled`. By default a test must not be asked. */
  readonly answer?: Answer;
  /** More of what this client does. */
  readonly extend?: (app: ClientApp) => ClientApp;
  readonly at?: ReturnType<typeof place>;
  /** In place of `acp`. */
  readonly args?: readonly string[];
  readonly script?: readonly Scripted[] | Scripted;
}

export interface Editor {
  readonly agent: ClientContext;
  /** Of all sessions, in order. */
  readonly updates: (SessionUpdate & { sessionId: string })[];
  readonly asked: RequestPermissionRequest[];
  /** Every line that came from gmn, checked. */
  readonly lines: Json[];
  readonly at: ReturnType<typeof place>;
  begin(more?: object): Promise<NewSessionResponse>;
  say(sessionId: string, text: string): Promise<string>;
  /** The text of the answers so far. */
  text(): string;
  /** The editor goes away. */
  close(): Promise<void>;
}

/** gmn in this process, with an editor that speaks through the SDK's own client. */
export async function openEditor(t: TestContext, given: EditorOptions = {}): Promise<Editor> {
  const gemini = given.script === undefined ? given.gemini : await fakeGemini(t, given.script);
  const at = given.at ?? place(t, { ...given, gemini });
  const env = {
    ...at.env,
    ...describeAccount(gemini),
  };
  const app = await createTestApp(t, env);
  const pipe = createPipe();
  const served = serveEditor({ options: given.options ?? {}, app, input: pipe.input, output: pipe.output });
  return connect(t, given, at, pipe.stream, () => {
    pipe.end();
    return served;
  });
}

/** The same with a program of its own. */
export async function startEditor(t: TestContext, args: readonly string[], given: EditorOptions = {}) {
  const gemini = given.script === undefined ? given.gemini : await fakeGemini(t, given.script);
  const at = given.at ?? place(t, { ...given, gemini });
  const env = {
    ...at.env,
    ...describeAccount(gemini),
  };
  const pipe = createPipe();
  const started = startProgram(t, gmnCommand(given.args ?? ['acp', ...args]), { ...at, env }, { stdin: 'open' });
  const { stdin, stdout } = started.child;
  void (async () => {
    for await (const chunk of pipe.input) stdin?.write(chunk);
    stdin?.end();
  })().catch(() => {});
  stdout?.on('data', (data: Buffer) => void pipe.output.write(data.toString('utf8')));
  const editor = connect(t, given, at, pipe.stream, async () => {
    pipe.end();
    await started.ended;
  });
  return { ...(await editor), ...started };
}

function describeAccount(gemini: GmnOptions['gemini']): Record<string, string> {
  return gemini === undefined ? {} : { GEMINI_API_KEY: 'test-key-0123456789', GOOGLE_GEMINI_BASE_URL: gemini.url };
}

async function connect(
  t: TestContext,
  given: EditorOptions,
  at: ReturnType<typeof place>,
  { stream, lines }: { stream: Stream; lines: Json[] },
  close: () => Promise<unknown>,
): Promise<Editor> {
  const updates: Editor['updates'] = [];
  const asked: RequestPermissionRequest[] = [];
  const base = client({ name: 'test' })
    .onNotification(
      'session/update',
      ({ params }) => void updates.push({ ...params.update, sessionId: params.sessionId }),
    )
    .onRequest('session/request_permission', async ({ params }): Promise<RequestPermissionResponse> => {
      asked.push(params);
      const optionId = await (given.answer ?? notAsked)(params);
      return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } };
    });
  const connection = (given.extend?.(base) ?? base).connect(stream);
  const { agent } = connection;
  let closing: Promise<unknown> | undefined;
  const leave = async (): Promise<void> => {
    closing ??= close();
    await closing;
  };
  t.onTestFinished(leave);
  await agent.request('initialize', { protocolVersion: 1, clientCapabilities: given.capabilities ?? {} });
  return {
    ...{ agent, updates, asked, lines, at },
    begin: (more = {}) => agent.request('session/new', { cwd: at.cwd, mcpServers: [], ...more }),
    async say(sessionId, text) {
      return (await agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })).stopReason;
    },
    text: () =>
      updates
        .map((update) =>
          update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? update.content.text : '',
        )
        .join(''),
    close: leave,
  };
}

function notAsked(request: RequestPermissionRequest): never {
  throw new Error(`nobody should be asked: ${JSON.stringify(request.toolCall)}`);
}

async function createTestApp(t: TestContext, env: Record<string, string>): Promise<App> {
  const end = new AbortController();
  t.onTestFinished(() => end.abort());
  const out = { write: async () => {}, isTerminal: false, columns: 80, isStyled: false };
  const io = { out, err: out, expireWrites: () => {}, flush: async () => {} };
  const world = { ...processWorld, openIo: () => io, createInterruptSignal: () => end.signal };
  return createApp({ version: '0.0.0', env, flags: {}, io, world, secrets: [], findHomes, loadSettings });
}

/** Both ends of stdin and stdout. Each line of gmn is checked before the client sees it. */
function createPipe() {
  const check = createLineCheck();
  const lines: Json[] = [];
  let wake = (): void => {};
  const chunks: (Uint8Array | 'end')[] = [];
  const push = (chunk: Uint8Array | 'end'): void => {
    chunks.push(chunk);
    wake();
  };
  async function* read(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const next = chunks.shift();
      if (next === 'end') return;
      if (next !== undefined) yield next;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  let control: ReadableStreamDefaultController<AnyMessage> | undefined;
  let rest = '';
  const take = (text: string): void => {
    const pieces = (rest + text).split('\n');
    rest = pieces.pop() ?? '';
    for (const line of pieces) {
      try {
        const message = check.check(line);
        lines.push(message);
        control?.enqueue(message);
      } catch (thrown) {
        control?.error(thrown);
        throw thrown;
      }
    }
  };
  const stream: Stream = {
    readable: new ReadableStream<AnyMessage>({
      start(controller) {
        control = controller;
      },
    }),
    writable: new WritableStream<AnyMessage>({
      write(message) {
        check.noteSent(message);
        push(Buffer.from(`${JSON.stringify(message)}\n`));
      },
    }),
  };
  return {
    input: read(),
    output: { write: async (text: string) => take(text), ready: async () => {}, gone: new Promise<void>(() => {}) },
    stream: { stream, lines },
    send: (text: string | Uint8Array) => push(typeof text === 'string' ? Buffer.from(text) : text),
    end: () => push('end'),
    note: check.noteSent,
  };
}

/** gmn in this process, and lines as they are. */
export async function openRaw(t: TestContext, given: EditorOptions = {}) {
  const gemini = given.script === undefined ? given.gemini : await fakeGemini(t, given.script);
  const at = given.at ?? place(t, { ...given, gemini });
  const app = await createTestApp(t, { ...at.env, ...describeAccount(gemini) });
  const pipe = createPipe();
  const served = serveEditor({ options: given.options ?? {}, app, input: pipe.input, output: pipe.output });
  return {
    at,
    lines: pipe.stream.lines,
    /** What is sent as it is; a message is also noted, so that its answer can be checked. */
    send(message: string | Uint8Array | object): void {
      const isMessage = typeof message === 'object' && !(message instanceof Uint8Array);
      pipe.note(isMessage ? message : tryParseJson(String(message)));
      pipe.send(isMessage ? `${JSON.stringify(message)}\n` : message);
    },
    async end(): Promise<readonly Json[]> {
      pipe.end();
      await served;
      return pipe.stream.lines;
    },
  };
}
