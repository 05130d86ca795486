// How fast a recording is served: `npm run bench -- --only=replay`. Beside it a bare server of Node, with the same client and bytes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { join } from 'node:path';
import { gmn, openPlace } from './processes.mjs';
import { verdict } from './verdicts.mjs';

const EXCHANGES = 1000;
const CLIENTS = 16;
const PATH = '/v1beta/models/gemini-2.5-flash:streamGenerateContent';

/** A thousand exchanges of a few kB, each asked for once, in another order; the server answers as fast as it can. */
export async function benchReplay({ rounds }) {
  const place = openPlace('replay');
  try {
    const bodies = Array.from({ length: EXCHANGES }, (_, index) => toBody(index));
    const file = join(place.directory, 'calls.jsonl');
    writeFileSync(file, bodies.map((body, index) => `${JSON.stringify(toExchange(body, index))}\n`).join(''));
    const measured = [];
    for (let round = 0; round < rounds; round += 1) {
      measured.push({
        replay: await withReplay(file, place, (url) => ask(url, bodies)),
        bare: await withBare((url) => ask(url, bodies)),
      });
    }
    const best = (key) => Math.max(...measured.map((each) => each[key]));
    const rows = [
      { work: 'a recording of 1,000 exchanges', 'requests/s (best)': Math.round(best('replay')) },
      { work: 'a bare server of Node', 'requests/s (best)': Math.round(best('bare')) },
    ];
    console.table(rows);
    return {
      rows,
      verdicts: [
        verdict({
          work: 'a recording of 1,000 exchanges, served',
          measured: best('replay'),
          budget: 2000,
          unit: 'requests/s',
          atLeast: true,
        }),
      ],
    };
  } finally {
    place.remove();
  }
}

function toBody(index) {
  return { contents: [{ role: 'user', parts: [{ text: `question ${index} ${'about it '.repeat(100)}` }] }] };
}

function toEvent(index) {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text: `answer ${index} ${'and more '.repeat(30)}` }] } }],
  };
}

function toExchange(body, index) {
  return {
    ...{ v: 1, id: index + 1, at: '2026-11-18T09:00:00Z', ms: 300 },
    request: { method: 'POST', path: PATH, query: { alt: 'sse' }, headers: {}, body },
    response: {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      chunks: [1, 2, 3, 4].map((chunk) => ({ ms: chunk * 50, data: toEvent(index) })),
    },
  };
}

async function withReplay(file, { directory }, work) {
  const child = spawn(process.execPath, [gmn, 'demo', 'serve', '--replay', file, '--quiet'], {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: directory },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [first] = await once(child.stdout, 'data');
  const speed = await work(String(first).split('\n')[0]);
  child.kill();
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the replay ended with ${code}`);
  return speed;
}

/** Reads the body and answers with four chunks: what any server has to do. */
async function withBare(work) {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let chunk = 0; chunk < 4; chunk += 1) outgoing.write(`data: ${JSON.stringify(toEvent(chunk))}\r\n\r\n`);
      outgoing.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Requests per second of several clients that ask one after the other, on kept connections. */
async function ask(url, bodies) {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const texts = bodies.map((body) => JSON.stringify(body)).reverse();
  let next = 0;
  const start = process.hrtime.bigint();
  const client = async () => {
    while (next < texts.length) {
      const text = texts[next];
      next += 1;
      const { status, size } = await post(`${url}${PATH}?alt=sse`, text, agent);
      if (status !== 200 || size < 1000) throw new Error(`${status} with ${size} bytes`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  agent.destroy();
  return texts.length / (Number(process.hrtime.bigint() - start) / 1e9);
}

function post(url, text, agent) {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'x-goog-api-key': 'bench-key',
      'content-length': Buffer.byteLength(text),
    };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      let size = 0;
      response.on('data', (piece) => (size += piece.length));
      response.on('end', () => resolve({ status: response.statusCode, size }));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}
