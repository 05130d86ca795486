import { Session } from 'node:inspector';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createContext, Script } from 'node:vm';
import { build } from 'esbuild';

interface StepCount<Exports> {
  readonly exports: Exports;
  /**
   * How often a block of the code is entered while this runs, libraries included, and how many characters patterns and searches pass, if each
   * of them passes a character once (test/patterns.test.ts). The same on every machine.
   */
  countSteps(work: () => unknown): Promise<number>;
  stop(): void;
}

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

/** Loads a module with all it imports, anew: V8 counts the blocks of functions that are compiled after it was told to. */
export async function startStepCount<Exports>(file: URL): Promise<StepCount<Exports>> {
  const filename = `counted:${file.href}`;
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(file)],
    ...{ bundle: true, platform: 'node', format: 'cjs', write: false, logLevel: 'error' },
  });
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const module = { exports: {} as Exports };
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
  const takeCharacters: () => number = new Script(COUNT_CHARACTERS).runInContext(realm);
  const code = `(function (module, require) {${outputFiles[0]?.text}\n})`;
  new Script(code, { filename }).runInContext(realm)(module, createRequire(import.meta.url));
  const takeSteps = (): number => {
    let steps = takeCharacters();
    session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error;
      const functions = result.filter(({ url }) => url === filename).flatMap((script) => script.functions);
      steps += functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0);
    });
    return steps;
  };
  return {
    exports: module.exports,
    async countSteps(work) {
      takeSteps();
      await work();
      return takeSteps();
    },
    stop() {
      session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}
