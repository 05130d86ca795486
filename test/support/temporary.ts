import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
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
