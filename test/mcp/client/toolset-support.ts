import type { TestContext } from 'vitest';
import type { ServerSetting } from '../../../src/core/app.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { listConfiguredServers } from '../../../src/mcp/client/servers.ts';
import { openMcpTools, type ToolsetOptions } from '../../../src/mcp/client/tools/toolset.ts';
import { fixture, surroundings } from './support.ts';

/** Never aborted. */
export const signal = new AbortController().signal;
export const good = { command: process.execPath, args: [fixture('mcp-server.mjs')] };
/** The identity of the server `a` in the record of known tools. */
export const SEEN = { name: 'a', scope: 'user', file: 'settings.json' } as const;
export const hostile = (manner: string) => ({
  command: process.execPath,
  args: [fixture('hostile-mcp-server.mjs'), manner],
});

export function settings(entries: JsonObject, scope: ServerSetting['scope'] = 'user', mcp: JsonObject = {}) {
  const servers = Object.entries(entries).map(([name, definition]) => ({
    name,
    definition: definition ?? null,
    scope,
    file: 'settings.json',
  }));
  return { servers, document: { mcp } };
}

export function configured(name: string) {
  const [server] = listConfiguredServers(settings({ [name]: good })).servers;
  if (server === undefined) throw new Error(name);
  return server;
}

/** Each `open` shares one home directory. */
export function toolset(t: TestContext, entries: JsonObject, more: Partial<ToolsetOptions> = {}) {
  const around = surroundings(t);
  const open = async (now: JsonObject = entries) => {
    const { servers } = listConfiguredServers(settings(now));
    const set = await openMcpTools({ servers, context: around.context, reserved: ['read_file'], ...more }, signal);
    t.onTestFinished(() => set.close());
    const tool = (name: string) => {
      const found = set.tools.find((each) => each.name === name);
      if (found === undefined) throw new Error(`no ${name} in ${set.tools.map((each) => each.name)}`);
      return found;
    };
    return Object.assign(set, { tool });
  };
  return { ...around, open };
}
