// The other end of the bench: answers every model call with the same short SSE stream, and counts the calls.
// With two arguments, a key and a certificate, it speaks TLS.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

const event = (parts, rest) =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts }, ...rest }], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 12, totalTokenCount: 17 }, modelVersion: 'gemini-2.5-flash' })}\r\n\r\n`;
const ANSWER =
  ['Hello', '! How can', ' I help you today?'].map((text) => event([{ text }], {})).join('') +
  event([{ text: '' }], { finishReason: 'STOP' });

let calls = 0;
const [key, certificate] = process.argv.slice(2);
const server = key
  ? createTlsServer({ key: readFileSync(key), cert: readFileSync(certificate) }, answer)
  : createServer(answer);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());

function answer(request, response) {
  if (request.url === '/calls') return response.end(String(calls));
  request.resume().on('end', () => {
    calls += 1;
    if (!request.url.includes('streamGenerateContent')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end('{}');
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(ANSWER);
  });
}
