// How long after a chunk was sent it is on stdout. The next chunk is sent only then, so that none waits for another.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { openPlace } from './processes.mjs';

const WARM_UP = 100;

/**
 * The delays of `count` chunks in milliseconds, from before the write to the socket until after the read from the pipe: the way
 * through both is in it. `argsOf` makes the arguments of Node from the server's address.
 */
export async function chunkDelays(argsOf, count) {
  const place = openPlace('latency');
  const delays = [];
  const gate = openGate();
  const server = createServer((request, response) => {
    request.resume().on('end', () => sendAll(response));
  });
  try {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${server.address().port}`;
    const child = spawn(process.execPath, argsOf(url), {
      cwd: place.directory,
      env: place.env(url),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.on('data', gate.hear);
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${argsOf(url).join(' ')} ended with ${code}`);
    return delays.slice(WARM_UP);
  } finally {
    server.close();
    place.remove();
  }

  async function sendAll(response) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let index = 0; index < count + WARM_UP; index += 1) {
      const mark = `chunk ${index}.`;
      const heard = gate.until(mark);
      const began = performance.now();
      response.write(eventOf(mark, {}));
      await heard;
      delays.push(performance.now() - began);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end(eventOf('The end.', { finishReason: 'STOP' }));
  }
}

function eventOf(text, rest) {
  const candidates = [{ content: { role: 'model', parts: [{ text }] }, ...rest }];
  return `data: ${JSON.stringify({ candidates, modelVersion: 'bench' })}\r\n\r\n`;
}

/** Opens when a mark has been heard, in however many pieces. */
function openGate() {
  let mark = '';
  let open = () => {};
  let heard = '';
  return {
    until(next) {
      mark = next;
      heard = '';
      return new Promise((resolve) => (open = resolve));
    },
    hear(data) {
      heard += data;
      if (mark !== '' && heard.includes(mark)) open();
    },
  };
}
