import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'vitest';
import { gate } from '../support/gate.ts';
import { CANARIES } from './canaries.ts';

export interface HostileAnswers {
  /** `answer`, the default, is a proper answer. */
  readonly model?: 'answer' | 'silence' | number;
  /** A grant by default. */
  readonly token?: 'grant' | 'rotate' | 'echo-200' | 'echo-error' | 'redirect' | number;
}

export interface HostileServer {
  readonly url: string;
  received(): string;
  /** The first lines of all requests, tunnels included: what proxies and logs on the way see. */
  lines(): string;
  readonly asked: Promise<void>;
}

/** Plays all of Google's services, and repeats whatever it was sent, secrets included, wherever it can. */
export async function hostileServer(t: TestContext, answers: HostileAnswers = {}): Promise<HostileServer> {
  let text = '';
  let lines = '';
  const { open: onAsked, opened: asked } = gate();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const echo = `${request.rawHeaders.join(' ')} ${Buffer.concat(chunks)}`;
    text += echo;
    const path = request.url ?? '';
    lines += `${request.method} ${path}\n`;
    const isToken = path.startsWith('/token');
    const how = answers.model ?? 'answer';
    const [status, headers, body] = isToken ? tokenReply(echo, answers.token ?? 'grant') : modelReply(path, echo, how);
    response.writeHead(status, headers);
    response.write(body);
    if (isToken || how !== 'silence') response.end();
    if (!isToken) onAsked();
  });
  server.on('connect', (request: IncomingMessage, socket) => {
    text += request.rawHeaders.join(' ');
    lines += `${request.method} ${request.url}\n`;
    socket.end(`HTTP/1.1 407 ${request.headers['proxy-authorization']}\r\nx: ${request.rawHeaders.join(' ')}\r\n\r\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => text,
    lines: () => lines,
    asked,
  };
}

type Reply = readonly [status: number, headers: Readonly<Record<string, string>>, body: string];

const JSON_TYPE = { 'content-type': 'application/json' };

function json(status: number, body: object): Reply {
  return [status, JSON_TYPE, JSON.stringify(body)];
}

function tokenReply(echo: string, how: NonNullable<HostileAnswers['token']>): Reply {
  const granted = { access_token: CANARIES.granted, expires_in: 3599, id_token: CANARIES.idToken };
  switch (how) {
    case 'grant':
      return json(200, granted);
    case 'rotate':
      return json(200, { ...granted, refresh_token: CANARIES.rotated });
    case 'echo-200':
      return json(200, { access_token: '', echo });
    case 'echo-error':
      return json(400, { error: CANARIES.refresh, error_description: echo });
    case 'redirect':
      return [307, { location: `/token?refresh_token=${encodeURIComponent(CANARIES.refresh)}` }, echo];
    default:
      return json(how, { error: how === 400 ? 'invalid_grant' : 'invalid_client', error_description: echo });
  }
}

function modelReply(path: string, echo: string, how: NonNullable<HostileAnswers['model']>): Reply {
  const echoed = { 'x-echo': encodeURIComponent(echo) };
  if (typeof how === 'number') {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: echo, metadata: { echo } }];
    const error = { code: how, message: echo, status: echo, details };
    return [how, { ...JSON_TYPE, ...echoed }, JSON.stringify({ error, error_description: echo })];
  }
  if (path.includes('loadCodeAssist')) {
    return json(200, { currentTier: { id: 'standard-tier' }, cloudaicompanionProject: 'p' });
  }
  if (!path.includes('stream')) return json(200, { totalTokens: 1, models: [], echo });
  const candidates = [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }];
  const event = path.includes('v1internal') ? { response: { candidates }, traceId: echo } : { candidates, echo };
  const body = how === 'silence' ? ': nothing yet\n\n' : `data: ${JSON.stringify(event)}\r\n\r\n`;
  return [200, { 'content-type': 'text/event-stream', ...echoed }, body];
}
