import { loadSettings } from '../../../config/settings.ts';
import type { ToolSetup } from '../setup.ts';
import type { ServersContext } from './servers.ts';
import type { OpenedServers } from './tools.ts';

export type RunServers = Awaited<ReturnType<typeof openRunServers>>;

/** Loads nothing of MCP unless there are servers. Throws AppError `mcp` or `config`. */
export async function openRunServers(options: ToolSetup, context: ServersContext) {
  const { app } = context;
  const isAll = options.servers === 'all';
  let current = isAll ? await (await prepareServers(options, context))?.() : await openNamed(options, context);
  let lifetime = new AbortController();
  const close = async (): Promise<void> => {
    lifetime.abort();
    await current?.tools.close();
    current = undefined;
  };
  return {
    get current(): OpenedServers | undefined {
      return current;
    },
    /** Stops the servers and starts those of the settings as they are now. Throws AppError `config`; then nothing changes. */
    async reload(): Promise<void> {
      const settings = await loadSettings(app);
      const fresh = { ...context, app: { ...app, settings: async () => settings }, ignoresCache: true };
      // May throw, so call it while the current servers still run.
      const reopen = isAll ? await prepareServers(options, fresh) : () => openNamed(options, fresh);
      await close();
      lifetime = new AbortController();
      current = await reopen?.();
    },
    /** Calls `onChange` when one of `all` servers has joined or has other tools, until they are reloaded or closed. */
    watch(onChange: (notices: readonly string[]) => void): void {
      if (isAll) current?.tools.watch(onChange, AbortSignal.any([context.signal, lifetime.signal]));
    },
    close,
  };
}

async function openNamed(options: ToolSetup, context: ServersContext): Promise<OpenedServers> {
  context.host.notify({ type: 'wait', what: 'the MCP servers' });
  return (await import('./tools.ts')).openNamedServers(options, context);
}

async function prepareServers(
  options: ToolSetup,
  context: ServersContext,
): Promise<(() => Promise<OpenedServers>) | undefined> {
  const { servers = [], serverCommand } = await context.app.settings();
  const isNamed = options.mcpConfig !== undefined || options.allowedMcpServerNames !== undefined;
  const isNeeded = servers.length > 0 || isNamed || (options.clientServers ?? []).length > 0;
  if (!isNeeded && serverCommand === undefined) return undefined;
  return (await import('./tools.ts')).prepareConfiguredServers(options, context);
}
