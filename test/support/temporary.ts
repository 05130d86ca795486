import { type Dirent, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface Files {
  readonly [path: string]: string | Uint8Array;
}

/** A new directory with these files, free of links, gone when the test is over. */
export function temporary(files: Files = {}): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-test-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  put(path, files);
  return path;
}

export function put(root: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
}

/** All that is below a directory. Links are not followed, as the recursive `readdir` does from Node 22 on. */
export function listTree(directory: string): readonly Dirent[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry, ...listTree(join(directory, entry.name))] : [entry],
  );
}
