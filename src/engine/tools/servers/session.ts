import { readSetting } from '../../../config/keys.ts';
import type { App } from '../../../core/app.ts';
import { createLimit } from '../../../core/async.ts';
import { AppError, findStatus } from '../../../core/error.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { connectServer } from '../../../mcp/client/connect.ts';
import { type ConfineServer, MAX_TIMER_MS, type NamedServer } from '../../../mcp/client/definition.ts';
import type { ConfiguredServer } from '../../../mcp/client/servers.ts';
import type { ClientContext, Connection } from '../../../mcp/client/types.ts';
import { maxProgramsAtOnce } from '../../../platform/process/child.ts';
import { obeySchema } from './elicitation.ts';
import { type Roster, type RosterOptions, readRoster, requireEntry } from './roster.ts';

/** A server that drops two sessions will drop the next as well. */
const MAX_SESSIONS = 2;

export interface SessionOptions extends RosterOptions {
  /** In milliseconds; overrides the server's own. 0 means no limit. */
  readonly timeout?: number;
}

/** Throws AppError `mcp` or `config`; the hint says what to do. */
export function requireReadyServer(roster: Roster, name: string): ConfiguredServer {
  const { state, file } = requireEntry(roster, name);
  const safeName = sanitize(name);
  switch (state.kind) {
    case 'ready':
      return state.server;
    case 'disabled':
      throw new AppError('config', `MCP server ${safeName} is not used: ${state.why}`, { hint: state.hint });
    case 'unapproved':
      throw new AppError('config', `MCP server ${safeName} is new or changed in ${file}, and not approved`, {
        hint: 'To review and approve it, run: gmn trust',
      });
    case 'faulty':
      throw new AppError('config', `${file}: mcpServers.${safeName}: ${state.why}`, {
        hint: `To see it, run: gmn mcp get ${safeName}`,
      });
  }
}

/** Programs that the folder brings are confined, if there is a sandbox; the user's own are not. */
export function confineServer(server: ConfiguredServer, confine: ConfineServer | undefined): ConfiguredServer {
  return server.scope === 'workspace' && server.definition.kind === 'stdio' ? { ...server, confine } : server;
}

/** By the settings alone, for commands that have no flags about it. */
function confineBySettings(app: App): ConfineServer {
  return async () => {
    const { document = {} } = await app.settings();
    if (readSetting(document, 'tools.sandbox') === undefined) return undefined;
    const { prepareSandbox } = await import('../sandbox/sandbox.ts');
    return (await (await prepareSandbox({}, { app, roots: [app.cwd] }))?.open())?.confine;
  };
}

export async function requireServer(
  name: string,
  { options, app }: { readonly options: RosterOptions; readonly app: App },
): Promise<{ readonly server: ConfiguredServer; readonly notices: readonly string[] }> {
  const roster = await readRoster(options, app);
  const server = confineServer(requireReadyServer(roster, name), confineBySettings(app));
  return { server, notices: roster.notices };
}

interface SessionContext extends Pick<ClientContext, 'elicit'> {
  readonly options: SessionOptions;
  readonly app: App;
  readonly check?: (server: NamedServer) => void;
}

/** Nothing is left running after `use`, which runs once more if the server drops its session. */
export async function withServer<Value>(
  name: string,
  { options, app, check, elicit: ask }: SessionContext,
  use: (connection: Connection, notices: readonly string[]) => Promise<Value>,
): Promise<Value> {
  const { server, notices } = await requireServer(name, { options, app });
  check?.(server);
  const elicit = ask && obeySchema(ask);
  const runInSession = async (number: number): Promise<Value> => {
    const connection = await connectServer(withTimeout(server, options.timeout), { ...app, elicit }, app.signal);
    try {
      return await use(connection, notices);
    } catch (thrown) {
      const isSessionLost = findStatus(thrown) === 404;
      if (!isSessionLost || number === MAX_SESSIONS) throw thrown;
    } finally {
      await connection.close();
    }
    return runInSession(number + 1);
  };
  return runInSession(1);
}

export function withTimeout<Server extends NamedServer>(server: Server, timeout: number | undefined): Server {
  if (timeout === undefined) return server;
  const limitMs = timeout === 0 ? MAX_TIMER_MS : timeout;
  return { ...server, limitMs, definition: { ...server.definition, timeoutMs: limitMs } };
}

export type LimitStarts = <Value>(server: NamedServer, work: () => Promise<Value>) => Promise<Value>;

/** Programs that start together make each other late, so few start at once; remote servers do not wait. */
export function createStartLimiter(atOnce = maxProgramsAtOnce()): LimitStarts {
  const limit = createLimit({ maxRunning: atOnce });
  return (server, work) => (server.definition.kind === 'stdio' ? limit.run(work) : work());
}

export type Inspection<Value> = { readonly name: string } & ({ readonly value: Value } | { readonly error: AppError });

/** Without a name: all usable servers, several at once; a failing one does not affect the others. */
export async function inspectServers<Value>(
  name: string | undefined,
  { options, app }: { readonly options: SessionOptions; readonly app: App },
  use: (connection: Connection, server: ConfiguredServer) => Promise<Value>,
): Promise<{ readonly inspections: readonly Inspection<Value>[]; readonly notices: readonly string[] }> {
  const roster = await readRoster(options, app);
  const found = name === undefined ? listReadyServers(roster) : [requireReadyServer(roster, name)];
  const servers = found.map((server) => confineServer(server, confineBySettings(app)));
  const limitStarts = createStartLimiter();
  const inspections = await Promise.all(
    servers.map((server) =>
      limitStarts(server, () =>
        inspectServer(withTimeout(server, options.timeout), { context: app, signal: app.signal }, (connection) =>
          use(connection, server),
        ),
      ),
    ),
  );
  app.signal.throwIfAborted();
  return { inspections, notices: roster.notices };
}

export function listReadyServers({ entries }: Roster): readonly ConfiguredServer[] {
  return entries.flatMap(({ state }) => (state.kind === 'ready' ? [state.server] : []));
}

export async function inspectServer<Value>(
  server: NamedServer,
  { context, signal }: { readonly context: ClientContext; readonly signal: AbortSignal },
  use: (connection: Connection) => Promise<Value>,
): Promise<Inspection<Value>> {
  const { name } = server;
  let connection: Connection | undefined;
  try {
    connection = await connectServer(server, context, signal);
    return { name, value: await use(connection) };
  } catch (thrown) {
    return { name, error: AppError.from(thrown) };
  } finally {
    await connection?.close();
  }
}
