import { createServer } from 'node:http';

/** The model every recorded prompt is sent to. */
export const MODEL = 'gemini-2.5-flash';

/** What every recorded prompt is answered with. */
export const ANSWER = 'Hello!';

/** The token that `/token` grants. */
export const GRANTED = 'ya29.granted-in-a-test';

/**
 * A server on the loopback that answers as the Gemini API, as Code Assist and as a token endpoint, and keeps what it was
 * asked in `seen`, oldest first.
 */
export async function startRecorder() {
  const seen = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url: path, headers } = request;
    seen.push({ method, path, headers, body: Buffer.concat(chunks).toString('utf8') });
    const isStream = path.includes('streamGenerateContent');
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? `data: ${JSON.stringify(reply(path))}\r\n\r\n` : JSON.stringify(document(path)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    seen,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function reply(path) {
  const candidates = [{ content: { role: 'model', parts: [{ text: ANSWER }] }, finishReason: 'STOP' }];
  const response = { candidates, modelVersion: MODEL };
  return path.startsWith('/v1internal') ? { response, traceId: 'trace-1' } : response;
}

function document(path) {
  if (path === '/token') return { access_token: GRANTED, expires_in: 3599, token_type: 'Bearer' };
  if (!path.includes('loadCodeAssist')) return {};
  return { currentTier: { id: 'standard-tier' }, cloudaicompanionProject: 'companion-project' };
}
