// Streams long answers: a model named `ascii-100`, `kana-100` or `line-100` answers with that many megabytes of events of 4 KB each.
import { createServer } from 'node:http';

const EVENT_BYTES = 4096;
const BLOCK_EVENTS = 16;
/** With what JSON must escape, as every answer has it. */
const LINES = {
  ascii: 'The quick brown fox said "hello" to `run()`, and the lazy dog replied with 42 words.\n',
  line: 'One line that never ends, with `code` and "words" in it, and so on. ',
  kana: '素早い茶色の狐が「こんにちは」と言い、犬は `run()` で答えた。\n',
};

const eventOf = (text, rest) =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text }] }, ...rest }], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 }, modelVersion: 'bench' })}\r\n\r\n`;

function eventOfSize(line) {
  const room = EVENT_BYTES - Buffer.byteLength(eventOf('', {}));
  return eventOf(line.repeat(Math.floor(room / Buffer.byteLength(JSON.stringify(line).slice(1, -1)))), {});
}

const server = createServer((request, response) => {
  request.resume().on('end', async () => {
    const [, kind = 'ascii', megabytes = '0'] = /(ascii|kana|line)-(\d+)/.exec(request.url) ?? [];
    const event = Buffer.from(eventOfSize(LINES[kind]));
    const block = Buffer.concat(Array.from({ length: BLOCK_EVENTS }, () => event));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const blocks = Math.ceil((Number(megabytes) * 1e6) / block.length);
    for (let sent = 0; sent < blocks; sent += 1) {
      if (!response.write(block)) await new Promise((resolve) => response.once('drain', resolve));
    }
    response.end(eventOf('The end.', { finishReason: 'STOP' }));
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
