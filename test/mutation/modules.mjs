/**
 * The modules whose faults would be silent, by what they guard, and the tests that must notice a change in them. All of
 * these run in one process: a mutant lives in the memory of the runner, and a program that is spawned would not have it.
 * The nearest test comes first, because the first that fails is the last that runs.
 */
export const modules = [
  {
    name: 'stream',
    units: [
      { mutate: ['src/api/sse.ts'], tests: ['test/api/sse.test.ts'] },
      { mutate: ['src/api/chunk.ts'], tests: ['test/api/chunk.test.ts'] },
      {
        mutate: ['src/api/reply.ts', 'src/api/reply-calls.ts', 'src/api/reply-failure.ts'],
        tests: ['test/api/reply-ending.test.ts', 'test/api/reply.test.ts', 'test/api/chunk.test.ts'],
      },
    ],
  },
  {
    name: 'fence',
    units: [
      {
        mutate: ['src/tools/workspace/fence.ts', 'src/core/text/path.ts'],
        tests: [
          'test/core/text/path.test.ts',
          'test/tools/workspace/fence.test.ts',
          'test/tools/workspace/fence-model.test.ts',
        ],
      },
    ],
  },
  {
    name: 'loader',
    units: [
      {
        mutate: ['src/session/load.ts', 'src/session/parse.ts'],
        tests: [
          'test/session/parse.test.ts',
          'test/session/load.test.ts',
          'test/session/damage.test.ts',
          'test/session/compaction.test.ts',
        ],
      },
    ],
  },
  {
    name: 'filter',
    units: [
      {
        mutate: ['src/core/text/terminal.ts'],
        tests: ['test/core/text/terminal-filter.test.ts', 'test/core/text/terminal.test.ts'],
      },
    ],
  },
  {
    name: 'classifier',
    units: [
      {
        mutate: ['src/api/failure.ts', 'src/api/quota-failure.ts', 'src/api/google-error.ts'],
        tests: ['test/api/google-error.test.ts', 'test/api/refusal-details.test.ts', 'test/api/failure.test.ts'],
      },
      { mutate: ['src/api/retry.ts'], tests: ['test/api/retry.test.ts'] },
    ],
  },
  {
    name: 'redaction',
    units: [
      {
        mutate: ['src/core/text/secrets.ts'],
        tests: [
          'test/core/text/secret-forms.test.ts',
          'test/core/text/secret-text.test.ts',
          'test/core/text/secret-words.test.ts',
          'test/core/text/secret-files.test.ts',
          'test/tools/workspace/fence.test.ts',
        ],
      },
    ],
  },
];
