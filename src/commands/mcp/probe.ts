import { formatTable, type PrintOptions, printReport } from '../../app/report.ts';
import { openProgress } from '../../app/servers/progress.ts';
import { createSignInPrompt } from '../../app/servers/sign-in.ts';
import { formatFirstLine, sanitizeLines } from '../../app/servers/view.ts';
import { acceptDefaults, createTerminalElicit } from '../../approval/elicitation.ts';
import type { App } from '../../core/app.ts';
import type { JsonObject } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { createDefinition, readOAuthFlag, type TransportOptions } from '../../engine/tools/servers/definition.ts';
import { connectServer } from '../../mcp/client/connect.ts';
import type { Connection } from '../../mcp/client/types.ts';
import { readCalls, type Trial, tryEverything } from './trial.ts';

interface McpProbeOptions extends PrintOptions, TransportOptions {
  readonly args: readonly string[];
  readonly acceptDefaults?: boolean;
  readonly callTools?: boolean;
  readonly calls?: string;
}

/** The server need not be configured. With `--call-tools`, failures are part of the report: sample arguments are guesses. */
export async function run(options: McpProbeOptions, app: App): Promise<number> {
  const [first = ''] = options.args;
  const { definition } = createDefinition(options.args, options, await readOAuthFlag(options, app));
  const calls = await readCalls(options.calls, app);
  const progress = openProgress(first, options, app);
  const elicit = options.json ? undefined : createTerminalElicit(app.io.err, progress.pause);
  const person = {
    elicit: options.acceptDefaults ? acceptDefaults : elicit,
    signIn: mayOpenBrowser(options, app)
      ? createSignInPrompt({ isOpened: true, pause: progress.pause }, app)
      : undefined,
  };
  try {
    const connection = await connectServer(
      { name: first, definition, remedy: adviseStart(options.args) },
      { ...app, ...person },
      app.signal,
    );
    try {
      const lists = await fetchLists(connection, app.signal);
      const isTried = options.callTools === true || calls !== undefined;
      const trials = isTried ? await tryEverything(connection, { ...lists, calls }, app.signal) : [];
      await progress.end();
      const report = { text: formatReport(connection, lists, trials), json: toReportJson(connection, lists, trials) };
      await printReport({ ...report, notices: collectOmissions(lists) }, options, app);
      return 0;
    } finally {
      await connection.close();
    }
  } finally {
    await progress.end();
  }
}

function adviseStart([command = '', ...args]: readonly string[]): string {
  if (/^https?:/i.test(command)) return 'Check the address.';
  if (args.length > 0 || !command.includes(' ')) return 'Check the command: run it by hand once to see what it says.';
  return `Give the program and its arguments as separate words, without quotes: gmn mcp probe ${sanitize(command)}`;
}

function mayOpenBrowser({ acceptDefaults: acceptsDefaults }: McpProbeOptions, { io, env }: App): boolean {
  return io.err.isTerminal || (acceptsDefaults === true && Boolean(env.BROWSER));
}

type ServerLists = Awaited<ReturnType<typeof fetchLists>>;

async function fetchLists(connection: Connection, signal: AbortSignal) {
  return {
    tools: await connection.listTools({ signal }),
    prompts: await connection.listPrompts({ signal }),
    resources: await connection.listResources({ signal }),
    templates: await connection.listResourceTemplates({ signal }),
  };
}

function collectOmissions(lists: ServerLists): readonly string[] {
  return Object.values(lists).flatMap(({ omitted }) => omitted ?? []);
}

function formatReport(connection: Connection, lists: ServerLists, trials: readonly Trial[]): string {
  const { serverInfo, protocolVersion, capabilities, instructions } = connection;
  const kinds = Object.entries(capabilities).flatMap(([kind, isThere]) => (isThere ? [kind] : []));
  const head = [
    ['server', [serverInfo.name, serverInfo.version].map(sanitize).join(' ').trim()],
    ['protocol', sanitize(protocolVersion)],
    ['offers', kinds.join(', ') || 'nothing'],
  ];
  const { tools, prompts, resources, templates } = lists;
  const tables = [
    formatTitledTable(
      'tools',
      tools.items.map((item) => [sanitize(item.name), formatFirstLine(item.description)]),
    ),
    formatTitledTable(
      'prompts',
      prompts.items.map((item) => [sanitize(item.name), formatFirstLine(item.description)]),
    ),
    formatTitledTable('resources', [
      ...resources.items.map((item) => [sanitize(item.uri), sanitize(item.name)]),
      ...templates.items.map((item) => [sanitize(item.uriTemplate), sanitize(item.name)]),
    ]),
    formatTitledTable(
      'tried',
      trials.map(({ what, error }) => [`${error === undefined ? '✓' : '✗'} ${sanitize(what)}`, error ?? '']),
    ),
  ];
  const usage = instructions === undefined ? '' : `instructions\n${sanitizeLines(instructions).replace(/^/gm, '  ')}\n`;
  return formatTable(head) + usage + tables.join('');
}

function formatTitledTable(title: string, rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : `${title}\n${formatTable(rows).replace(/^(?=.)/gm, '  ')}`;
}

function toReportJson(connection: Connection, lists: ServerLists, trials: readonly Trial[]): JsonObject {
  const { serverInfo, protocolVersion, capabilities, instructions } = connection;
  return {
    serverInfo: { ...serverInfo },
    protocolVersion,
    capabilities: { ...capabilities },
    instructions,
    tools: lists.tools.items.map((item) => ({ ...item })),
    prompts: lists.prompts.items.map((item) => ({
      ...item,
      arguments: item.arguments.map((taken) => ({ ...taken })),
    })),
    resources: lists.resources.items.map((item) => ({ ...item })),
    resourceTemplates: lists.templates.items.map((item) => ({ ...item })),
    trials: trials.length === 0 ? undefined : trials.map((trial) => ({ ...trial })),
  };
}
