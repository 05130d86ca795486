import { createLimit, createLocks, type Locks } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { type Clock, settlesWithin } from '../../core/io.ts';
import { createJobStore } from '../../jobs/store.ts';
import { recordDirectory } from '../../platform/files/records.ts';
import { randomId } from '../../platform/runtime/random-id.ts';
import type { Engine } from './engine.ts';
import { createConversations, type Host } from './host.ts';
import { createJobs } from './jobs/table.ts';
import { createPages } from './pages.ts';
import { createRecentIds } from './recent-ids.ts';
import { createRoots } from './roots.ts';
import type { ServerTool, Service, ToolGroup } from './tool.ts';
import { selectServedTools } from './tools/list.ts';

interface ServiceOptions extends Pick<Host, 'name' | 'version' | 'allowed' | 'startDirectory' | 'showsSession'> {
  readonly groups: readonly ToolGroup[];
  readonly roots: readonly string[];
  readonly openEngine: (locks: Locks) => Promise<Engine>;
  readonly clock: Clock;
  readonly jobDirectory: () => string;
  readonly maxRunning: number;
  readonly maxQueued: number;
}

/** Delegated jobs have limits of their own. */
const PLAIN_CALL_LIMITS = { maxRunning: 64, maxQueued: 1000 } as const;

/** A server may run for months. A caller without a root cannot continue a session older than these. */
const MAX_OWN_SESSIONS = 1000;

/** Touches neither disk nor network before the first call. */
export function openMcpService(options: ServiceOptions): Service {
  const tools = selectServedTools(options.groups).map((tool) =>
    options.roots.length === 0 ? withoutFiles(tool) : tool,
  );
  return { tools, host: openHost(options, tools) };
}

function withoutFiles(tool: ServerTool): ServerTool {
  return { ...tool, description: tool.withoutRoots ?? tool.description };
}

function openHost(options: ServiceOptions, tools: readonly ServerTool[]): Host {
  const { name, version, allowed, startDirectory, showsSession, clock } = options;
  let engine: Promise<Engine> | undefined;
  const roots = createRoots(options.roots);
  const locks = createLocks();
  return {
    name,
    version,
    allowed,
    startDirectory,
    showsSession,
    clock,
    tools,
    roots,
    engine: () => {
      engine ??= options.openEngine(locks).catch((thrown: unknown) => {
        engine = undefined;
        throw thrown;
      });
      return engine;
    },
    jobs: createJobs({
      ...options,
      isInside: roots.has,
      locks,
      store: createJobStore(recordDirectory(options.jobDirectory()), clock),
      newId: randomId,
    }),
    pages: createPages(randomId),
    conversations: createConversations(),
    queue: createLimit({ ...PLAIN_CALL_LIMITS, locks, overloadError }),
    calls: new Set(),
    ownSessions: createRecentIds(MAX_OWN_SESSIONS),
    latest: {},
  };
}

function overloadError(running: number, waiting: number): AppError {
  return new AppError('limit', `${running} calls are running and ${waiting} are waiting: the queue is full`, {
    hint: 'Wait for some of them to end.',
  });
}

const CLOSE_MS = 2000;

/** Also ends requests and child processes; running jobs are saved as INTERRUPTED. Never throws. */
export async function closeMcpService({ host }: Service): Promise<void> {
  await settlesWithin(Promise.allSettled([host.jobs.close(), ...host.calls]), CLOSE_MS, host.clock);
}
