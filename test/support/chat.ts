import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { callGmn, type GmnOptions, runGmn } from './gmn.ts';

export interface PipedOptions extends GmnOptions {
  readonly args?: readonly string[];
}

export function pipedChat(
  t: TestContext,
  lines: readonly string[],
  { args = [], ...options }: PipedOptions = {},
): ReturnType<typeof callGmn> {
  // What it pipes into writes to the descriptors of a process.
  const isStarted = lines.some((line) => line.startsWith('/pipe'));
  return (isStarted ? runGmn : callGmn)(t, ['chat', ...args], {
    ...options,
    stdin: lines.map((line) => `${line}\n`).join(''),
  });
}

export function sharedHome(t: TestContext): { readonly path: string; readonly env: Readonly<Record<string, string>> } {
  const path = mkdtempSync(join(tmpdir(), 'gmn-home-'));
  t.onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return { path, env: { GMN_HOME: path } };
}

/** The answers, then stderr without the statistics at the end. */
export async function readChat(t: TestContext, lines: readonly string[], options: PipedOptions = {}): Promise<string> {
  const { stderr, stdout } = await pipedChat(t, lines, { args: ['--demo'], ...options });
  return stdout + stderr.replace(/(?:^|(?<=\n))\d+ turns? · [\s\S]*$/, '');
}
