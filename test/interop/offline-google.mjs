// Preloaded into the official CLI: Google's user info is answered here, and nothing else leaves the machine by `fetch`.
const send = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  if (url.protocol === 'data:' || url.hostname === '127.0.0.1') return send(input, init);
  if (url.href === 'https://www.googleapis.com/oauth2/v2/userinfo') return Response.json({ email: 'ada@example.com' });
  throw new TypeError(`no network in this test: ${url.host}`);
};
