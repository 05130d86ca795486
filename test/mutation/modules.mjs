/**
 * The modules whose faults would be silent, by what they guard, and the tests that must notice a change in them. All of
 * these run in one process: a mutant lives in the memory of the runner, and a program that is spawned would not have it.
 */
export const modules = [
  {
    name: 'stream',
    mutate: [
      'src/api/sse.ts',
      'src/api/chunk.ts',
      'src/api/reply.ts',
      'src/api/reply-content.ts',
      'src/api/reply-calls.ts',
    ],
    tests: [
      'test/api/sse.test.ts',
      'test/api/chunk.test.ts',
      'test/api/reply.test.ts',
      'test/api/stream.test.ts',
      'test/api/tools.test.ts',
    ],
  },
  {
    name: 'fence',
    mutate: ['src/tools/fence.ts', 'src/core/containment.ts', 'src/platform/workspace-directory.ts'],
    tests: [
      'test/tools/fence-model.test.ts',
      'test/tools/workspace.test.ts',
      'test/tools/protection.test.ts',
      'test/core/containment.test.ts',
    ],
  },
  {
    name: 'session',
    mutate: ['src/session/load.ts', 'src/session/reading.ts', 'src/session/header.ts', 'src/session/exchanges.ts'],
    tests: [
      'test/session/damage.test.ts',
      'test/session/properties.test.ts',
      'test/session/record.test.ts',
      'test/session/store.test.ts',
    ],
  },
  {
    name: 'filter',
    mutate: ['src/render/terminal-filter.ts', 'src/core/visible.ts'],
    tests: ['test/render/terminal-filter.test.ts', 'test/core/visible.test.ts'],
  },
  {
    name: 'classifier',
    mutate: [
      'src/api/failure.ts',
      'src/api/google-error.ts',
      'src/api/account-trouble.ts',
      'src/api/retry.ts',
      'src/api/reply-failure.ts',
    ],
    tests: [
      'test/api/failure.test.ts',
      'test/api/failure-words.test.ts',
      'test/api/retry.test.ts',
      'test/api/stream.test.ts',
    ],
  },
  {
    name: 'redaction',
    mutate: [
      'src/core/secret-forms.ts',
      'src/core/secret-text.ts',
      'src/core/secret-words.ts',
      'src/core/secret-files.ts',
      'src/api/server-text.ts',
    ],
    tests: [
      'test/core/secret-files.test.ts',
      'test/core/secret-forms.test.ts',
      'test/core/secret-text.test.ts',
      'test/core/secret-words.test.ts',
      'test/api/failure-words.test.ts',
    ],
  },
];
