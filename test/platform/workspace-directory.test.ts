import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const PLATFORM = fileURLToPath(new URL('../../src/platform', import.meta.url));

test('a path on a drive that is not there leads nowhere, and the search for it ends', async () => {
  // In a process of its own, whose paths are those of Windows: a search without an end can only be stopped from outside.
  const { outputFiles } = await build({
    stdin: {
      contents: `import { locate } from './workspace-directory.ts'; console.log(locate('Z:\\\\a\\\\b'));`,
      resolveDir: PLATFORM,
    },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    alias: { 'node:path': 'node:path/win32' },
  });
  const args = ['--input-type=module', '--eval', outputFiles[0]?.text ?? ''];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 10_000 });
  expect({ stdout, stderr, status }).toEqual({ stdout: 'undefined\n', stderr: '', status: 0 });
});
