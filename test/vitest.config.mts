import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    // Most tests wait for the program they have started; the default would leave a small machine half idle.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    coverage: {
      provider: 'v8',
      // What stands between a model and the disk must have no branch that no test has taken.
      include: [
        'src/tools/{fence,protection,workspace,policy}.ts',
        'src/commands/approval*.ts',
        'src/agent/history.ts',
      ],
      reporter: ['text'],
      thresholds: { branches: 100 },
    },
  },
});
