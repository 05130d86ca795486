// A runner of tests for Stryker. Its runner for vitest starts a worker for each mutant, which takes longer than most of the
// tests; this one bundles each test file once, with the mutated modules in it, and evaluates that anew for each mutant.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { constants, Script } from 'node:vm';
import { chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
import * as vitest from '@vitest/runner';
import esbuild from 'esbuild';

for (const matchers of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(matchers);
/** What the tests import as `vitest`. */
const VITEST = { ...vitest, expect: chai.expect };

/** Loaded as the bundled tests load it: the package has another build for `import`, with a seed of its own. */
const fc = createRequire(import.meta.url)('fast-check');

const SUCCESS = 0;
const FAILED = 1;

export const strykerPlugins = [{ kind: 'TestRunner', name: 'in-process', factory: () => inProcessRunner() }];

const config = {
  root: process.cwd(),
  setupFiles: [],
  name: undefined,
  passWithNoTests: true,
  allowOnly: false,
  sequence: { seed: 1, hooks: 'stack', setupFiles: 'list' },
  maxConcurrency: 1,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  retry: 0,
  tags: [],
  strictTags: false,
};

function inProcessRunner() {
  // As Stryker's instrumented code knows it.
  globalThis.__stryker__ ??= {};
  const stryker = globalThis.__stryker__;
  const scripts = new Map();
  // The same cases for every mutant: a survivor must not depend on luck.
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
  process.on('unhandledRejection', () => {});

  async function run(files, hooks) {
    const results = [];
    let running = '';
    const idOf = (test) => `${test.file.name}#${namesOf(test)}`;
    const runner = {
      config,
      importFile: (file) => scripts.get(file)(),
      onBeforeRunFiles: () => hooks.begin?.(),
      onBeforeRunTask(test) {
        running = idOf(test);
        const isDecided = hooks.bails && results.some(({ status }) => status === FAILED);
        if (isDecided || hooks.isLeftOut?.(running)) test.mode = 'skip';
        else hooks.beforeTest?.(running);
      },
      onAfterRunTask(test) {
        hooks.afterTest?.(running);
        if (test.result?.state !== 'pass' && test.result?.state !== 'fail') return;
        const isGood = test.result.state === 'pass';
        const result = { id: running, name: running, timeSpentMs: test.result.duration ?? 0 };
        const failureMessage = test.result.errors?.[0]?.message ?? 'failed';
        results.push(isGood ? { ...result, status: SUCCESS } : { ...result, status: FAILED, failureMessage });
      },
    };
    const found = await vitest.startTests(files, runner);
    const broken = found.find(({ result }) => result?.state === 'fail' && result.errors?.length > 0);
    return { results, broken: broken?.result.errors[0].message };
  }

  return {
    capabilities: () => ({ reloadEnvironment: true }),
    async init() {
      for (const file of JSON.parse(process.env.GMN_MUTATION_TESTS)) scripts.set(file, await bundled(file));
    },
    async dryRun() {
      stryker.mutantCoverage = { static: {}, perTest: {} };
      const { results, broken } = await run([...scripts.keys()], {
        beforeTest: (id) => {
          stryker.currentTestId = id;
        },
        afterTest: () => {
          stryker.currentTestId = undefined;
        },
      });
      if (broken !== undefined) return { status: 'error', errorMessage: broken };
      return { status: 'complete', tests: results, mutantCoverage: stryker.mutantCoverage };
    },
    async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
      const wanted = testFilter && new Set(testFilter);
      const files = [...scripts.keys()].filter((file) => !wanted || testFilter.some((id) => id.startsWith(`${file}#`)));
      const begin = () => {
        stryker.activeMutant = activeMutant.id;
      };
      stryker.mutantCoverage = undefined;
      stryker.hitCount = 0;
      stryker.hitLimit = hitLimit;
      stryker.activeMutant = undefined;
      if (mutantActivation === 'static') begin();
      const { results, broken } = await run(files, {
        begin,
        bails: true,
        isLeftOut: (id) => wanted && !wanted.has(id),
      });
      stryker.activeMutant = undefined;
      const killer = results.find(({ status }) => status === FAILED);
      if (stryker.hitCount > hitLimit) return { status: 'timeout', reason: `${stryker.hitCount} hits` };
      if (killer === undefined && broken === undefined) return { status: 'survived', nrOfTests: results.length };
      return {
        status: 'killed',
        killedBy: killer === undefined ? [] : [killer.id],
        failureMessage: killer?.failureMessage ?? broken,
        nrOfTests: results.length,
      };
    },
  };
}

function namesOf(test) {
  const names = [];
  for (let task = test; task !== undefined && task !== test.file; task = task.suite) names.unshift(task.name);
  return names.join(' > ');
}

/** Gives each file of a bundle its own `import.meta.url`, by which the tests find their fixtures. */
const ownUrls = {
  name: 'own-urls',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const define = { 'import.meta.url': JSON.stringify(pathToFileURL(path).href) };
      const source = await readFile(path, 'utf8');
      const { code } = await esbuild.transform(source, { loader: 'ts', sourcefile: path, define });
      return { contents: code, loader: 'js' };
    });
  },
};

/** A function that evaluates a test file, which registers its tests. */
async function bundled(file) {
  const path = join(process.cwd(), file);
  const { outputFiles } = await esbuild.build({
    entryPoints: [path],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    plugins: [ownUrls],
    logLevel: 'error',
  });
  const script = new Script(`(function (require, module, exports) {${outputFiles[0].text}\n})`, {
    filename: path,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const require = createRequire(path);
  const known = (name) => (name === 'vitest' ? VITEST : require(name));
  return () => {
    const module = { exports: {} };
    script.runInThisContext()(known, module, module.exports);
  };
}
