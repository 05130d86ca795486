import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They start dozens of processes at once, or race another process: they need the machine for themselves, and follow the faults. */
const crowds = ['test/**/*crowd.test.ts', 'test/tools/workspace/race.test.ts'];

/** A thread needs a file that Node can run, so the searches of the tests use the one of the last build. */
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const searchWorker = readdirSync(dist).find((name) => name.startsWith('search-worker-'));

/**
 * Together they take every branch that must have been taken (`coverage` below). To measure it makes tests slower, so only these are run
 * with it: `npm test` runs this project apart from the others.
 */
const guards = [
  'test/{agent/history,approval/*,core/text/command-line,platform/files/run-directory,tools/{define,edits,files}}.test.ts',
  'test/cli/{approval-{decision,group,secret,target,view},hooks,skills}.test.ts',
  'test/tools/workspace/{fence,fence-model,journal,protection,windows-paths,workspace}.test.ts',
];

/** They kill, stop, starve and cut off hundreds of programs: `npm run test:faults -- --set quick`, and not `npm test`. */
const faults = ['test/faults/{matrix,kill,batch-kill,batch-api-kill,endurance,stopped,torture}.test.ts'];

const never = ['test/interop/**', 'test/sandbox/**', 'test/standalone/**'];

/** Most tests wait for the program they have started, but more of them than this only take the cores from each other. */
const maxWorkers = availableParallelism() + 2;

/** They take longest, though their files are small; if one of them is the last to begin, a core waits for it. */
const longest =
  /\/(?:matrix|many-files|hostile-length|canaries|(?:batch-(?:api-)?)?kill|payloads|approval|templates|chat-crash)\.test\.ts$/;

if (process.platform === 'win32') await import('./windows/workers.mts');

/** Without the times of an earlier run, Vitest begins with the largest files. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => longest.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// By variables: the compiler has no types for them.
const [prices, bundle] = ['prices', 'bundle'].map((name) => new URL(`../scripts/${name}.mjs`, import.meta.url).href);
const { priceDefines } = await import(prices!);
const { importCommandTable, outlineDefines } = await import(bundle!);
const scratch = mkdtempSync(join(tmpdir(), 'gmn-table-'));
const outline = outlineDefines(await importCommandTable(scratch));
rmdirSync(scratch);

export default defineConfig({
  define: {
    SEARCH_WORKER: JSON.stringify(dist + searchWorker),
    DESCRIPTION: JSON.stringify(`${dist}help.json`),
    ...priceDefines(),
    ...outline,
  },
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    projects: [
      { extends: true, test: { name: 'guards', include: guards, maxWorkers } },
      // One project, though many of them start programs: what is compiled for one project is compiled again for another.
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts'],
          exclude: [...never, ...crowds, ...guards, ...faults],
          maxWorkers,
        },
      },
      { extends: true, test: { name: 'faults', include: faults, maxWorkers } },
      { extends: true, test: { name: 'crowds', include: crowds, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
    alias: [{ find: /^fast-check$/, replacement: fileURLToPath(new URL('support/properties.ts', import.meta.url)) }],
    // All cores are busy: V8 alone in each worker takes a sixth less of their time than with threads for garbage and code.
    execArgv: ['--single-threaded'],
    globalSetup: ['test/support/code-cache.ts'],
    sequence: { sequencer: LongestFirst },
    // No test changes what another could see, so that a process may be used for more than one file.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    coverage: {
      provider: 'v8',
      // What stands between a model and the disk must have no branch that no test has taken.
      include: [
        'src/tools/workspace/{fence,protection,workspace}.ts',
        'src/approval/{approve,command-parts,grants,harm,harm-words,judge-command,keys,official-rules,policy,proposal,question,targets,view}.ts',
        'src/core/text/command-line.ts',
        'src/agent/history.ts',
      ],
      reporter: ['text'],
      thresholds: { branches: 100 },
    },
  },
});
