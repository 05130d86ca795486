import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { TestContext } from 'vitest';
import { type Gate, gate } from '../support/gate.ts';
import { requestReader, type WireRequest } from './wire-request.ts';

/** What a server does on the wire, one after the other. */
export type Step =
  | { readonly send: string | Uint8Array }
  /** Goes on when `WireServer.open` was called with this name. */
  | { readonly gate: string }
  | { readonly pauseMs: number }
  /** `fin`: closes; `half-close`: says that it is done, and reads on; `reset`: RST; `hold`: silent until the client leaves. */
  | { readonly end: 'fin' | 'half-close' | 'reset' | 'hold' };

/** The answer to one request; with `atAccept` to a connection, before anything is read from it. */
export interface Play {
  readonly atAccept?: boolean;
  steps(request: WireRequest): Iterable<Step>;
}

export interface Script {
  readonly model?: readonly Play[];
  readonly token?: readonly Play[];
  readonly isEndless?: boolean;
  readonly tls?: TlsOptions;
}

export type Service = 'model' | 'token' | 'onboarding';

/** A request with what became of its connection. */
export interface Asked extends WireRequest {
  readonly service: Service;
  /** Resolves when the connection is closed, by whomever. */
  readonly closed: Promise<void>;
}

export interface WireServer {
  readonly url: string;
  readonly port: number;
  /** Everything that was asked, byte for byte, in order. */
  readonly requests: readonly Asked[];
  asked(service: Service): readonly Asked[];
  /** Resolves with that request, counted from 1, when it has arrived. */
  seen(service: Service, count?: number): Promise<Asked>;
  /** Opens a gate of the script, for whoever waits there now or later. */
  open(gate: string): void;
  /** What was asked beyond the script, and what of it was not asked for, once all that has arrived is seen. */
  faults(): Promise<readonly string[]>;
}

/** Google's services in one raw TCP server on 127.0.0.1, which follows a script to the byte. */
export async function wireServer(t: Pick<TestContext, 'onTestFinished'>, script: Script): Promise<WireServer> {
  const requests: Asked[] = [];
  const sockets = new Set<Socket>();
  const left = { model: [...(script.model ?? [])], token: [...(script.token ?? [])] };
  const unexpected: string[] = [];
  const gates = new Map<string, Gate>();
  const gateAt = (name: string): Gate => {
    const there = gates.get(name) ?? gate();
    gates.set(name, there);
    return there;
  };
  let wake: () => void = () => {};
  const woken = (): Promise<void> => new Promise((resolve) => (wake = chain(wake, resolve)));

  function next(service: 'model' | 'token', request: WireRequest | undefined): Play | undefined {
    const list = left[service];
    if (list.length > 1 || !script.isEndless) {
      const play = list.shift();
      if (play === undefined) unexpected.push(`unexpected request for ${service}: ${request?.method} ${request?.path}`);
      return play;
    }
    return list[0];
  }

  async function serve(socket: Socket): Promise<void> {
    if (socket.remoteAddress === PROBE) return void socket.destroy();
    sockets.add(socket);
    socket.on('error', () => {});
    const closed = once(socket, 'close').then(
      () => void sockets.delete(socket),
      () => void sockets.delete(socket),
    );
    if (left.model[0]?.atAccept) {
      await perform(socket, next('model', undefined)?.steps(NOTHING) ?? [], gateAt);
      return;
    }
    for await (const request of requestReader(socket)) {
      const service = serviceOf(request.path);
      requests.push({ ...request, service, closed });
      wake();
      const play = service === 'onboarding' ? ONBOARDED : next(service, request);
      if (!(await perform(socket, play?.steps(request) ?? UNEXPECTED, gateAt))) return;
    }
  }

  const onSocket = (socket: Socket): void => void serve(socket).catch(() => socket.destroy());
  const server = script.tls
    ? createTlsServer({ ...script.tls, allowHalfOpen: true }, onSocket)
        .on('tlsClientError', () => {})
        .prependListener('connection', (socket: Socket) => socket.remoteAddress === PROBE && socket.destroy())
    : createServer({ allowHalfOpen: true }, onSocket);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const asked = (service: Service): readonly Asked[] => requests.filter((request) => request.service === service);
  return {
    port,
    url: `${script.tls ? 'https://localhost' : 'http://127.0.0.1'}:${port}`,
    requests,
    asked,
    async seen(service, count = 1) {
      for (;;) {
        const request = asked(service)[count - 1];
        if (request !== undefined) return request;
        await woken();
      }
    },
    open: (name) => gateAt(name).open(),
    async faults() {
      await settled(port);
      return [...unexpected, ...(script.isEndless ? [] : [...unused(left.model), ...unused(left.token)])];
    },
  };
}

/** Connections from here are the rig's own. */
const PROBE = '127.0.0.3';
const ROUNDS = 5;

/** Connections are taken in their order: when one of ours was, all before it were, and what they brought follows at once. */
async function settled(port: number): Promise<void> {
  const probe = connect({ port, host: '127.0.0.1', localAddress: PROBE }).on('error', () => {});
  probe.resume();
  await once(probe, 'close');
  for (let round = 0; round < ROUNDS; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

function chain(first: () => void, second: () => void): () => void {
  return () => {
    first();
    second();
  };
}

function unused(list: readonly Play[]): readonly string[] {
  return list.length === 0 ? [] : [`${list.length} scripted answers were not asked for`];
}

const NOTHING: WireRequest = { raw: Buffer.alloc(0), method: '', path: '', headers: {}, body: '' };
const UNEXPECTED: readonly Step[] = [
  { send: 'HTTP/1.1 500 Unexpected\r\ncontent-length: 0\r\nconnection: close\r\n\r\n' },
  { end: 'fin' },
];
const ACCOUNT = JSON.stringify({ currentTier: { id: 'standard-tier' }, cloudaicompanionProject: 'rig-project' });
const ONBOARDED: Play = {
  steps: () => [
    {
      send: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ACCOUNT.length}\r\n\r\n${ACCOUNT}`,
    },
  ],
};

function serviceOf(target: string): Service {
  // A proxy is asked for a whole address.
  const path = target.replace(/^http:\/\/[^/]*/, '');
  if (path.startsWith('/token')) return 'token';
  return /:(?:loadCodeAssist|onboardUser)/.test(path) ? 'onboarding' : 'model';
}

/** False if the connection is over. */
async function perform(socket: Socket, steps: Iterable<Step>, gateAt: (name: string) => Gate): Promise<boolean> {
  for (const step of steps) {
    if (socket.destroyed) return false;
    if ('send' in step) await write(socket, step.send);
    else if ('gate' in step) await gateAt(step.gate).opened;
    else if ('pauseMs' in step) await new Promise((resolve) => setTimeout(resolve, step.pauseMs));
    else if (step.end === 'reset') socket.resetAndDestroy();
    else if (step.end === 'fin') socket.end(() => socket.destroySoon());
    else if (step.end === 'half-close') socket.end();
    // Whoever does not read does not see the other leave.
    if ('end' in step) {
      socket.once('end', () => socket.destroy()).resume();
      return false;
    }
  }
  return !socket.destroyed;
}

/** Resolves when there is room for more, or nobody to read it. */
function write(socket: Socket, bytes: string | Uint8Array): Promise<void> | undefined {
  if (socket.destroyed || socket.write(bytes)) return undefined;
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.once('drain', done);
    socket.once('close', done);
  });
}
