// A headless Chromium driven through its debugging pipe: no port, no package.
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const CALL_MS = 60_000;

/** The program GMN_BROWSER names, else the first Chromium on PATH; undefined if there is none. */
export function findChromium(env) {
  if (env.GMN_BROWSER) return env.GMN_BROWSER;
  const paths = (env.PATH ?? '').split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Starts it. `open` gives a page with `send`, `evaluate` and the events that came; `close` ends the browser. */
export async function startChromium(program, profile) {
  const flags = [
    '--headless=new',
    '--disable-gpu',
    '--no-first-run',
    '--remote-debugging-pipe',
    `--user-data-dir=${profile}`,
  ];
  // Its sandbox does not run as root; the pages are our own files, and the profile is thrown away.
  if (process.getuid?.() === 0) flags.push('--no-sandbox');
  const child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const wire = wireOf(child);
  return {
    version: (await wire.send('Browser.getVersion')).product,
    async open() {
      const { targetId } = await wire.send('Target.createTarget', { url: 'about:blank' });
      const { sessionId } = await wire.send('Target.attachToTarget', { targetId, flatten: true });
      return pageOf(wire, sessionId);
    },
    async close() {
      await wire.send('Browser.close').catch(() => {});
      await ended;
    },
  };
}

/** Messages both ways, each ended by a NUL. */
function wireOf(child) {
  const waiting = new Map();
  const listeners = new Set();
  let next = 1;
  let rest = '';
  child.stdio[3].on('error', () => {});
  child.stdio[4].setEncoding('utf8').on('data', (text) => {
    const messages = (rest + text).split('\0');
    rest = messages.pop();
    for (const message of messages.map((each) => JSON.parse(each))) {
      if (message.id === undefined) for (const listener of listeners) listener(message);
      else waiting.get(message.id)?.(message);
      waiting.delete(message.id);
    }
  });
  const send = (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      const id = next;
      next += 1;
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), CALL_MS);
      waiting.set(id, ({ error, result }) => {
        clearTimeout(timer);
        if (error) reject(new Error(`${method}: ${error.message}`));
        else resolve(result);
      });
      child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  return { send, listen: (listener) => listeners.add(listener) };
}

async function pageOf(wire, sessionId) {
  const events = [];
  const send = (method, params) => wire.send(method, params, sessionId);
  let loaded;
  wire.listen((message) => {
    if (message.sessionId !== sessionId) return;
    events.push(message);
    // A dialog would hold everything up; that there was one is in the events.
    if (message.method === 'Page.javascriptDialogOpening') send('Page.handleJavaScriptDialog', { accept: true });
    if (message.method === 'Page.loadEventFired') loaded?.();
  });
  for (const domain of ['Page', 'Network', 'Runtime', 'Log', 'Audits']) await send(`${domain}.enable`);
  return {
    events,
    send,
    async goTo(url) {
      const load = new Promise((resolve) => {
        loaded = resolve;
      });
      await send('Page.navigate', { url });
      await load;
    },
    /** Runs a function in the page, in a world of its own calls: the page's policy does not hold for it. */
    async evaluate(work, ...args) {
      const expression = `(${work})(...${JSON.stringify(args)})`;
      const { result, exceptionDetails } = await send('Runtime.evaluate', {
        expression,
        returnByValue: true,
        awaitPromise: true,
      });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
  };
}
