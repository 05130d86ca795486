import { spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import {
  detectHandleMode,
  openChildDirectory,
  openDirectoryHandle,
} from '../../../src/platform/files/directory-handle.ts';
import { posixTest } from '../../support/posix.ts';
import { temporary } from '../../tools/place.ts';

const PLATFORM = fileURLToPath(new URL('../../../src/platform', import.meta.url));

test('a path on a drive that is not there leads nowhere, and the search for it ends', async () => {
  // In a process of its own, whose paths are those of Windows: a search without an end can only be stopped from outside.
  const { outputFiles } = await build({
    stdin: {
      contents: `import { locate } from './files/directory-handle.ts'; console.log(locate('Z:\\\\a\\\\b'));`,
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

posixTest.for(['descriptor', 'path'] as const)(
  'a link that has come in the place of a directory is told from a file (%s)',
  async (wanted) => {
    const hold = wanted === 'descriptor' ? detectHandleMode() : wanted;
    const root = temporary({ 'real/a.txt': 'a', 'file.txt': 'a' });
    symlinkSync('real', join(root, 'link'));
    await expect(openDirectoryHandle(join(root, 'link'), hold)).rejects.toMatchObject({ code: 'EMOVED' });
    await expect(openDirectoryHandle(join(root, 'file.txt'), hold)).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(openDirectoryHandle(join(root, 'file.txt/x'), hold)).rejects.toMatchObject({ code: 'ENOTDIR' });
    const parent = await openDirectoryHandle(root, hold);
    try {
      await expect(openChildDirectory(parent, 'link', hold)).rejects.toMatchObject({ code: 'EMOVED' });
      await expect(openChildDirectory(parent, 'file.txt', hold)).rejects.toMatchObject({ code: 'ENOTDIR' });
      await (await openChildDirectory(parent, 'real', hold)).close();
    } finally {
      await parent.close();
    }
  },
);
