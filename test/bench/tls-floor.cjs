// What a one-shot over TLS is measured against: the same request, and nothing else.
const { request } = require('node:https');

const body = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] });
const headers = { 'content-type': 'application/json', 'x-goog-api-key': process.env.GEMINI_API_KEY };
const url = `${process.env.GOOGLE_GEMINI_BASE_URL}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse`;
const asked = request(url, { method: 'POST', agent: false, headers }, (response) => {
  response.setEncoding('utf8').on('data', (text) => process.stdout.write(text));
});
asked.end(body);
