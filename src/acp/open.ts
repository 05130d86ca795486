import { createCustomCommands } from '../app/custom-commands.ts';
import { type RunFlags, toRunSetup } from '../app/run-setup.ts';
import { type ApprovalMode, nonInteractiveDenial } from '../approval/policy.ts';
import { listModes } from '../chat/approval-modes.ts';
import { createChanges } from '../chat/changes.ts';
import type { Chat } from '../chat/chat.ts';
import { openChatConversation } from '../chat/conversation.ts';
import { createCollectedOut, NO_LINES } from '../chat/hosted.ts';
import { createStats } from '../chat/stats.ts';
import { createView } from '../chat/view.ts';
import { readSetting } from '../config/keys.ts';
import { loadSettings } from '../config/settings.ts';
import type { App } from '../core/app.ts';
import { loadOnce } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { Out } from '../core/io.ts';
import type { Tool } from '../core/tool.ts';
import type { Host } from '../engine/host.ts';
import type { Budget } from '../engine/limits/budget.ts';
import { Run } from '../engine/run.ts';
import type { RunSetup } from '../engine/setup.ts';
import { openProjectPermissions, tryListPermissions } from '../engine/tools/permissions.ts';
import { toServerSetting } from '../engine/tools/servers/client-servers.ts';
import { chooseMode } from '../engine/tools/toolbox.ts';
import { watchWrites } from '../tools/workspace/watch.ts';
import type { Client } from './client.ts';
import { createEditorAccess } from './editor.ts';
import { createEditorElicit, createEditorPerson } from './person.ts';
import type { McpServer } from './sdk.ts';
import { createEditorSession, type EditorSession, type TurnState } from './session.ts';

/** What `gmn acp` was started with: it holds for every session. */
export interface AcpOptions extends RunFlags {
  readonly noMcp?: boolean;
  readonly noSession?: boolean;
}

/** What the editor asks for. */
export interface SessionRequest {
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly servers: readonly McpServer[];
  /** The saved session to go on with. */
  readonly resume?: string;
}

export interface SessionContext {
  readonly app: App;
  readonly options: AcpOptions;
  readonly budget: Budget | undefined;
  readonly createClient: (sessionId: string) => Client;
}

/** Opens a chat whose person sits at an editor. Throws AppError. */
export async function openEditorSession(request: SessionRequest, context: SessionContext): Promise<EditorSession> {
  const printed = createCollectedOut();
  const app = createSessionApp(context.app, request.cwd, printed.out);
  const { resume } = request;
  const { noSession, includeDirectories = [] } = context.options;
  const options = { ...context.options, includeDirectories: [...includeDirectories, ...request.directories] };
  const settings = await app.settings();
  const view = createView(app, { isPlain: true, isQuiet: false, isNotifying: false });
  const { kept: permissions } = tryListPermissions(openProjectPermissions(app));
  const { mode, notices } = chooseMode(options, settings, permissions);
  for (const notice of notices) view.notify(notice);
  const { conversation, kept } = await openChatConversation({ resume, noSession }, app, view.notify);
  const { session } = conversation;
  try {
    if (resume !== undefined && session.id !== resume) throw openElsewhereError();
    // The editor knows its id from now on, and may ask for it after a crash.
    if (resume === undefined) await session.touch?.();
    const client = context.createClient(session.id);
    const state: TurnState = { reportChoices: async () => {} };
    const findTool = (name: string): Tool | undefined => {
      const { tools, withheld = [] } = run.facts.agent;
      return [...tools, ...withheld].find((tool) => tool.name === name);
    };
    const { buffers, runShell } = createEditorAccess({
      ...{ client, clock: app.clock },
      findSignal: () => state.controller?.signal,
      onTerminal: async (terminalId) => state.updates?.addTerminal(terminalId),
    });
    const host: Host = {
      notify: view.notify,
      withPerson: createEditorPerson({
        ...{ client, cwd: app.cwd, findTool },
        findUpdates: () => state.updates,
        onAnswered: () => state.reportChoices(),
      }),
      elicit: createEditorElicit(client),
      explainDenial: async ({ tool }, scope) => nonInteractiveDenial(tool, scope, false),
      runShell,
    };
    const changes = await createChanges(options, app, buffers);
    const workspace = watchWrites(changes.workspace, (texts) => state.updates?.addChange(texts));
    const asked = toEditorSetup(options, mode, request.servers);
    const setup: RunSetup = {
      ...asked,
      tools: { ...asked.tools, workspace },
      limits: { ...asked.limits, budget: context.budget },
      session: { ...asked.session, kept },
    };
    const run = await Run.open(setup, app, host);
    const prices = readSetting(settings.document ?? {}, 'prices');
    const chat: Chat = {
      ...{ app, run, lines: NO_LINES, view, conversation, changes },
      attached: { files: [], notes: [], pictures: [] },
      stats: createStats({ clock: app.clock, prices, budget: run.limits.budget }),
      customCommands: createCustomCommands(options, { app, host }),
      ...{ canAsk: true, isInEditor: true, modes: listModes(mode), modeBeforePlan: undefined, verify: undefined },
    };
    return createEditorSession({ chat, client, state, printed, findTool });
  } catch (thrown) {
    await session.close();
    throw thrown;
  }
}

function openElsewhereError(): AppError {
  return new AppError('usage', 'this session is open in another program', {
    hint: 'Leave it there first; a chat does that with /exit.',
  });
}

/** The directory is the session's, and so are the settings of that folder. Nothing is printed but what the editor is told. */
function createSessionApp(app: App, cwd: string, out: Out): App {
  const own = { ...app, cwd };
  return { ...own, io: { out, err: out }, settings: loadOnce(() => loadSettings(own)) };
}

function toEditorSetup(options: AcpOptions, mode: ApprovalMode, servers: readonly McpServer[]): RunSetup {
  const { model, tools, instruction, limits, answer } = toRunSetup(options);
  return {
    model: { ...model, showThoughts: true },
    tools: {
      ...tools,
      // Somebody can be asked about each command.
      tools: options.tools ?? 'edit,run_shell_command',
      namedTools: options.tools === undefined ? 'edit' : undefined,
      approvalMode: mode,
      yolo: undefined,
      servers: options.noMcp ? 'none' : 'all',
      clientServers: servers.map(toServerSetting),
    },
    instruction: { ...instruction, isChat: true },
    limits: { ...limits, timing: 'request' },
    answer,
    session: { kind: 'chat' },
  };
}
