// A model that makes the calls of a script, one after the other, and remembers what it was told.
import { once } from 'node:events';
import { createServer } from 'node:http';

/** Each turn is a list of `{ name, args }`; after its last call a turn ends with the words `turn <n> done`. */
export async function scriptedModel(turns) {
  const left = turns.map((calls) => [...calls]);
  const declared = new Set();
  const answers = [];
  let finished = 0;
  const reply = (body) => {
    for (const { functionDeclarations = [] } of body.tools ?? [])
      for (const { name } of functionDeclarations) declared.add(name);
    for (const { functionResponse } of body.contents.at(-1).parts) if (functionResponse) answers.push(functionResponse);
    const call = left[finished]?.shift();
    if (call) return { functionCall: { name: call.name, args: call.args }, thoughtSignature: 'c2ln' };
    finished += 1;
    return { text: `turn ${finished} done` };
  };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const part = reply(JSON.parse(text));
    const answer = {
      candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(answer)}\r\n\r\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    env: { GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${server.address().port}` },
    declared,
    answers,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
