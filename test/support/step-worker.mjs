// The thread of steps.ts: tells the names of the readers, and then, for a reader and a text, the steps that reading takes.
import { Session } from 'node:inspector';
import { createRequire } from 'node:module';
import { createContext, Script } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';

/** In a realm of its own, so that no other code sees it. A pattern that fails has passed the rest of the text, unless it is sticky. */
const COUNT_CHARACTERS = `
  let characters = 0;
  const { exec } = RegExp.prototype;
  RegExp.prototype.exec = function (subject) {
    const text = String(subject);
    const start = this.global || this.sticky ? this.lastIndex : 0;
    const match = exec.call(this, text);
    const end = match === null ? text.length : match.index + match[0].length;
    characters += match === null && this.sticky ? 1 : Math.max(1, end - start);
    return match;
  };
  const { indexOf, lastIndexOf } = String.prototype;
  String.prototype.indexOf = function (wanted, from = 0) {
    const found = indexOf.call(this, wanted, from);
    characters += Math.max(1, (found === -1 ? this.length : found) - from);
    return found;
  };
  String.prototype.lastIndexOf = function (wanted, from = this.length) {
    const found = lastIndexOf.call(this, wanted, from);
    characters += Math.max(1, from - found);
    return found;
  };
  String.prototype.includes = function (wanted, from) {
    return this.indexOf(wanted, from) !== -1;
  };
  () => { const taken = characters; characters = 0; return taken; }`;

const filename = 'counted:readers';
const session = new Session();
session.connect();
session.post('Profiler.enable');
// V8 counts the blocks of functions that are compiled from now on.
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
const module = { exports: {} };
const realm = createContext({
  Buffer,
  URL,
  TextDecoder,
  TextEncoder,
  AbortController,
  performance,
  setImmediate,
  process,
});
const takeCharacters = new Script(COUNT_CHARACTERS).runInContext(realm);
const code = `(function (module, require) {${workerData}\n})`;
new Script(code, { filename }).runInContext(realm)(module, createRequire(import.meta.url));
const { READERS } = module.exports;

function takeSteps() {
  let steps = takeCharacters();
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error !== null) throw error;
    const functions = result.filter(({ url }) => url === filename).flatMap((script) => script.functions);
    steps += functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0);
  });
  return steps;
}

parentPort.on('message', async ({ reader, text }) => {
  takeSteps();
  await READERS[reader](text);
  parentPort.postMessage(takeSteps());
});
parentPort.postMessage(Object.keys(READERS));
