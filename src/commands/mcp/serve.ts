import { join, sep } from 'node:path';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { closeMcpService, openMcpService } from '../../mcp/server/service.ts';
import { type Service, TOOL_GROUPS, type ToolGroup } from '../../mcp/server/tool.ts';
import { serveLines } from '../../mcp/server/transport/stdio.ts';
import type { Backend } from '../../models/table.ts';
import { isDirectory, realPath } from '../../platform/files/path.ts';
import { findUserHomes } from '../../platform/host.ts';
import { abortWithParent } from '../../platform/process/identity.ts';
import { createStderr } from '../../render/stderr.ts';
import type { HttpFlags } from './serve-http.ts';

interface McpServeOptions extends HttpFlags {
  readonly args: readonly string[];
  readonly serverName?: string;
  readonly serverVersion?: string;
  readonly tools?: string;
  readonly root?: readonly string[];
  readonly allowWrite?: boolean;
  readonly allowShell?: boolean;
  readonly showSession?: boolean;
  readonly sandbox?: string;
  readonly sandboxNet?: string;
  readonly maxRunning?: number;
  readonly maxQueued?: number;
  /** Ignored: it would end the server, or cut off calls that have limits of their own. */
  readonly timeout?: number;
  readonly model?: string;
  readonly auth?: string;
  readonly backend?: Backend;
  readonly demo?: boolean;
  readonly store?: boolean;
  /** In dollars. */
  readonly maxCost?: number;
}

/** On stdin and stdout until the client disconnects or dies; over HTTP until a signal ends it. */
export async function run(options: McpServeOptions, app: App): Promise<number> {
  if (options.tokenFile !== undefined && options.http === undefined) {
    throw new AppError('usage', '--token-file is only for --http', { hint: 'Add --http, or leave --token-file out.' });
  }
  if (options.maxCost !== undefined && !(options.maxCost > 0)) {
    throw new AppError('usage', '--max-cost must be more than 0', { hint: 'In dollars, e.g. --max-cost 5' });
  }
  const isConfined = options.sandbox !== undefined && options.sandbox !== 'off';
  if ((isConfined || options.sandboxNet !== undefined) && !options.allowShell) {
    throw new AppError('usage', '--sandbox confines commands, and none is allowed', {
      hint: 'Add --allow-shell, or leave it out.',
    });
  }
  // At once, not with the first call: nothing may run if it does not work.
  if (isConfined) await (await import('../../app/serve/sandbox.ts')).checkServedSandbox(options, app);
  const service = createService(options, app);
  if (options.http !== undefined) {
    const { serveHttp } = await import('./serve-http.ts');
    return serveHttp(service, options, app);
  }
  if (await app.stdin.isTerminal()) {
    await createStderr(app.io.err).notice(
      'waiting for an MCP client on stdin; clients start this command themselves. Ctrl+C ends it',
    );
  }
  const output = await app.claimStdout();
  const input = app.stdin.read(abortWithParent(app.signal));
  const loadSdk = async () => (await import('../../mcp/server/sdk.ts')).sdk;
  await serveLines(service, { input, output, trace: app.trace, loadSdk });
  await closeMcpService(service);
  return app.signal.aborted ? AppError.from(app.signal.reason).exitCode : 0;
}

function createService(options: McpServeOptions, app: App): Service {
  const allowed = { write: options.allowWrite ?? false, shell: options.allowShell ?? false };
  const { model, auth, backend, demo, store } = options;
  const chosen = { model, auth, backend, demo, store };
  return openMcpService({
    name: options.serverName ?? 'gmn',
    version: options.serverVersion ?? app.version,
    groups: parseGroups(options.tools),
    roots: resolveRoots(options.root, app),
    startDirectory: realPath(app.cwd) ?? app.cwd,
    allowed,
    showsSession: options.showSession ?? false,
    clock: app.clock,
    jobDirectory: () => join(app.homes().gmn, 'jobs'),
    maxRunning: parseLimit(options.maxRunning, 4, '--max-running', 1),
    maxQueued: parseLimit(options.maxQueued, 100, '--max-queued', 0),
    openEngine: async (locks) => {
      const { createEngine } = await import('../../app/serve/engine.ts');
      const { sandbox, sandboxNet, maxCost } = options;
      return createEngine({
        app,
        locks,
        model: chosen,
        permissions: allowed,
        sandbox: { sandbox, sandboxNet },
        maxCost,
      });
    },
  });
}

function parseGroups(wanted: string | undefined): readonly ToolGroup[] {
  if (wanted === undefined) return TOOL_GROUPS;
  const names = wanted.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !TOOL_GROUPS.some((group) => group === name));
  if (unknown === undefined) return TOOL_GROUPS.filter((group) => names.includes(group));
  throw new AppError('usage', `--tools: there are no tools "${unknown}"`, {
    hint: `Choose from: ${TOOL_GROUPS.join(',')}`,
  });
}

/** `/` and the home directory hold everything a person has: they become roots only by an explicit `--root`. */
function resolveRoots(wanted: readonly string[] | undefined, app: App): readonly string[] {
  if (wanted === undefined) {
    const start = realPath(app.cwd) ?? app.cwd;
    return start === sep || start === realPath('/') || findUserHomes(app.env).includes(start) ? [] : [start];
  }
  return wanted.map((name) => {
    const path = realPath(name);
    if (path !== undefined && isDirectory(path)) return path;
    throw new AppError('usage', `--root: ${name} is not a directory`, { hint: 'Name a directory that exists.' });
  });
}

function parseLimit(value: number | undefined, fallback: number, flag: string, least: number): number {
  if (value === undefined) return fallback;
  if (value >= least && value <= 10_000) return value;
  throw new AppError('usage', `${flag} must be ${least} to 10000`, { hint: `Example: ${flag} ${fallback}` });
}
