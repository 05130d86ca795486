import { chmodSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Env } from '../../src/core/io.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { toSlashes } from '../../src/core/text/path.ts';
import type { Tool, ToolResult } from '../../src/core/tool.ts';
import { createBackgroundCommands } from '../../src/platform/process/background.ts';
import { TOOLS } from '../../src/tools/list.ts';
import {
  type Journal,
  openWorkspace,
  type Workspace,
  type WorkspaceOptions,
} from '../../src/tools/workspace/workspace.ts';
import { type Files, put, temporary } from '../support/temporary.ts';

export { type Files, put, temporary };

/** Never aborted. */
export const CALM = new AbortController().signal;

export const NO_JOURNAL: Journal = { record: async () => {} };

export interface PlaceOptions extends Partial<WorkspaceOptions> {
  readonly env?: Env;
}

export interface Place {
  readonly root: string;
  readonly workspace: Workspace;
  readonly tools: ReadonlyMap<string, Tool>;
  call(name: string, args: JsonObject, signal?: AbortSignal): Promise<ToolResult>;
  /** What a tool gave, which must be good. */
  output(name: string, args: JsonObject): Promise<unknown>;
  /** What a tool complained of. */
  error(name: string, args: JsonObject): Promise<string>;
}

/** A workspace with these files, and the tools to use it. */
export async function place(files: Files = {}, options: PlaceOptions = {}): Promise<Place> {
  return placeAt(temporary(files), options);
}

/** Without a ripgrep: an empty PATH would mean the directories of the system. */
const NO_PROGRAMS = { PATH: join(tmpdir(), 'no-such-directory') };

/** Unless `env` says otherwise, our own engine searches, whatever is installed. */
export async function placeAt(root: string, { env, ...options }: PlaceOptions = {}): Promise<Place> {
  const workspace = await openWorkspace({ roots: [root], journal: NO_JOURNAL, ...options });
  const context = {
    workspace,
    env: env ?? {},
    shell: { path: '/bin/sh', args: ['-c'], isVerbatim: false },
    background: createBackgroundCommands(),
    resolveDirectory: async (path: string) => join(root, path),
    storeOutput: workspace.keep,
    storeUntrusted: workspace.keepUntrusted,
    send: async () => expect.unreachable(),
    ground: async () => expect.unreachable(),
  };
  const searching = { ...context, env: env ?? NO_PROGRAMS };
  const tools = new Map(
    TOOLS.map((tool) => [tool.name, tool.create(/search|glob/.test(tool.name) ? searching : context)]),
  );
  const call = async (name: string, args: JsonObject, signal = CALM): Promise<ToolResult> =>
    tools.get(name)!.invoke(args, signal);
  return {
    root,
    workspace,
    tools,
    call,
    output: async (name, args) => {
      const { ok, response } = await call(name, args);
      if (!ok) throw new Error(`${name} failed: ${JSON.stringify(response)}`);
      return response.output;
    },
    error: async (name, args) => {
      const { ok, response } = await call(name, args);
      if (ok) throw new Error(`${name} did not fail: ${JSON.stringify(response)}`);
      return String(response.error);
    },
  };
}

/** Everything below a directory, with content and mode, for comparing. */
export function snapshot(root: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = (path: string): void => {
    const status = lstatSync(path);
    const name = toSlashes(path.slice(root.length));
    if (status.isDirectory()) {
      found[name] = 'directory';
      for (const entry of readdirSync(path)) visit(join(path, entry));
    } else if (status.isSymbolicLink()) found[name] = `link to ${readlinkSync(path)}`;
    else if (status.isFile()) found[name] = `${(status.mode & 0o7777).toString(8)} ${readFileSync(path, 'base64')}`;
    else found[name] = 'special';
  };
  visit(root);
  return found;
}

/** A file with these permission bits, whatever the umask. */
export function chmod(path: string, mode: number): void {
  chmodSync(path, mode);
}

/** Counts how often the event loop came round while some work was done: by turns, since fast work must pass, too. */
export async function ticksDuring<T>(work: Promise<T>): Promise<{ readonly result: T; readonly ticks: number }> {
  let ticks = 0;
  const count = (): void => {
    ticks += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  try {
    return { result: await work, ticks };
  } finally {
    clearImmediate(next);
  }
}

/** A program called rg that leaves a mark when it is run. */
export function marker(directory: string, mark: string, script = ''): void {
  put(directory, { rg: `#!/bin/sh\ntouch '${mark}'\n${script}` });
  chmodSync(join(directory, 'rg'), 0o755);
}
