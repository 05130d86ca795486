// A model over TLS that calls a tool as often as its first argument says, then answers; the model `no-calls` answers at once.
// The other arguments: key and certificate.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

const [calls, key, certificate] = process.argv.slice(2);
const event = (part, rest) =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [part] }, ...rest }], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 }, modelVersion: 'gemini-2.5-flash' })}\r\n\r\n`;
const ANSWER = event({ text: 'Done.' }, { finishReason: 'STOP' });

const options = { key: readFileSync(key), cert: readFileSync(certificate), keepAliveTimeout: 60_000 };
const server = createServer(options, (request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => (body += text));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(request.url.includes('no-calls') ? ANSWER : answerTo(JSON.parse(body)));
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());

function answerTo({ contents, tools }) {
  const done = contents.flatMap(({ parts }) => parts).filter((part) => part.functionResponse).length;
  if (tools === undefined || done >= Number(calls)) return ANSWER;
  const functionCall = { name: 'read_file', args: { file_path: 'notes.txt', start_line: 1, end_line: done + 1 } };
  return event({ functionCall }, { finishReason: 'STOP' });
}
