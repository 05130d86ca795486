import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'vitest';
import { callGmnIn, type GmnOptions, type GmnResult, place } from './gmn.ts';

/** The command line of a program in test/fixtures, as the settings have it. */
export function fixtureServer(name: string, ...args: readonly string[]) {
  const path = fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
  return { command: process.execPath, args: [path, ...args] };
}

type Ran = Pick<GmnResult, 'stdout' | 'stderr' | 'exitCode'>;

/** A place for several runs, with these MCP servers in the user's settings. */
export function mcpPlace(t: TestContext, mcpServers: object = {}, options: GmnOptions = {}) {
  const here = place(t, options);
  const file = join(here.home, '.gemini', 'settings.json');
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  if (!existsSync(file)) write(file, `${JSON.stringify({ mcpServers }, null, 2)}\n`);
  return {
    ...here,
    /** The user's settings file. */
    file,
    write,
    read: (path = file): string => readFileSync(path, 'utf8'),
    run: async (args: readonly string[], stdin?: string): Promise<Ran> => {
      const { stdout, stderr, exitCode } = await callGmnIn(t, here, args, stdin);
      return { stdout, stderr, exitCode };
    },
  };
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
