import { expect, test } from 'vitest';
import { chunk, events, fakeGemini, finish } from '../support/gemini.ts';
import { callGmn } from '../support/gmn.ts';

const NO_SESSION = { GMN_NO_SESSION: '1' };

const GROUNDED = events([
  chunk([{ text: 'It is 21 °C.' }]),
  {
    ...finish(),
    candidates: [
      {
        finishReason: 'STOP',
        groundingMetadata: {
          webSearchQueries: ['weather kyoto'],
          groundingChunks: [
            { web: { uri: 'https://weather.example/kyoto', title: 'Weather' } },
            { web: { uri: 'https://news.example/' } },
          ],
        },
      },
    ],
  },
]);

test('--search offers Google Search; the sources stand below the answer, on stderr', async (t) => {
  const gmn = await callGmn(t, ['--search', 'weather in Kyoto?'], { script: [GROUNDED] });
  expect(gmn).toMatchObject({
    stdout: 'It is 21 °C.\n',
    stderr: '\nSources:\n[1] Weather https://weather.example/kyoto\n[2] https://news.example/ https://news.example/\n',
    exitCode: 0,
  });
  expect(gmn.requests[0]?.body.tools).toEqual([{ googleSearch: {} }]);
});

test('the sources are a key in json', async (t) => {
  const gemini = await fakeGemini(t, [GROUNDED]);
  expect(await callGmn(t, ['--search', '-o', 'json', 'x'], { gemini, env: NO_SESSION })).toMatchObject({
    stdout: `{
  "model": "gemini-2.5-flash",
  "response": "It is 21 °C.",
  "sources": [
    {
      "title": "Weather",
      "uri": "https://weather.example/kyoto"
    },
    {
      "title": "https://news.example/",
      "uri": "https://news.example/"
    }
  ],
  "usage": {
    "promptTokenCount": 5,
    "candidatesTokenCount": 12,
    "totalTokenCount": 17
  },
  "cost": 0.0000315,
  "finishReason": "STOP"
}
`,
    stderr: '',
    exitCode: 0,
  });
});

test('the sources are part of done in stream-json', async (t) => {
  expect(await callGmn(t, ['--demo', '--search', '-o', 'stream-json', 'Hello'])).toMatchObject({
    stdout: `{"type":"start","model":"gemini-2.5-flash"}
{"type":"content","text":"Hello"}
{"type":"content","text":"! How can"}
{"type":"content","text":" I help you today?"}
{"type":"done","usage":{"promptTokenCount":5,"candidatesTokenCount":12,"totalTokenCount":17},"finishReason":"STOP","sources":[{"title":"example.com","uri":"https://example.com/"}]}
`,
    stderr: '',
    exitCode: 0,
  });
});

test('the sources of an answer by schema come from the search before it', async (t) => {
  const gmn = await callGmn(t, ['--demo', '--search', '-o', 'json', '--output-schema', '{"type":"array"}', 'Hello']);
  expect(JSON.parse(gmn.stdout)).toMatchObject({
    response: '["demo"]',
    sources: [{ title: 'example.com', uri: 'https://example.com/' }],
  });
});

test('-q shows the answer alone', async (t) => {
  const gmn = await callGmn(t, ['--demo', '--search', '-q', 'Hello']);
  expect(gmn).toMatchObject({ stdout: 'Hello! How can I help you today?\n', stderr: '', exitCode: 0 });
});

test('--search beside other tools is refused, and names the tool that searches', async (t) => {
  expect(await callGmn(t, ['--demo', '--search', '--tools', 'read', 'x'])).toMatchObject({
    stdout: '',
    stderr: `Error: --search cannot be combined with other tools
Give the model the search as a tool instead: --tools google_web_search, or --tools all
`,
    exitCode: 1,
  });
});
