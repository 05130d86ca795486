import { type PrintOptions, printReport, table } from '../../app/report.ts';
import { makeDefinition, oauthKey, type TransportOptions } from '../../app/servers/definition.ts';
import { callProgress } from '../../app/servers/progress.ts';
import { signInPrompt } from '../../app/servers/sign-in.ts';
import { firstLine, visibleLines } from '../../app/servers/view.ts';
import { acceptDefaults, terminalElicit } from '../../approval/elicitation.ts';
import type { App } from '../../core/app.ts';
import type { JsonObject } from '../../core/json.ts';
import { visible } from '../../core/text/terminal.ts';
import { connect } from '../../mcp/client/connect.ts';
import type { Connection } from '../../mcp/client/types.ts';
import { readCalls, type Trial, tryEverything } from './trial.ts';

interface McpProbeOptions extends PrintOptions, TransportOptions {
  readonly args: readonly string[];
  readonly acceptDefaults?: boolean;
  readonly callTools?: boolean;
  /** Calls to make instead of samples, as JSON or `@file`. */
  readonly calls?: string;
}

/**
 * Connects to an address or program that need not be configured, and prints what it is and offers. `--call-tools` also
 * tries everything; failures are then part of the report, since sample arguments are guesses. Throws AppError `usage`
 * or `mcp`.
 */
export async function run(options: McpProbeOptions, app: App): Promise<number> {
  const [first = ''] = options.args;
  const { definition } = makeDefinition(options.args, options, await oauthKey(options, app.cwd));
  const calls = await readCalls(options.calls, app.cwd);
  const shown = callProgress(first, { quiet: options.quiet === true || options.json === true }, app);
  const asking = options.json ? {} : terminalElicit(app, shown.lend);
  const person = {
    ...(options.acceptDefaults ? { elicit: acceptDefaults } : asking),
    ...(mayOpen(options, app) ? { signIn: signInPrompt({ isOpened: true, lend: shown.lend }, app) } : {}),
  };
  try {
    const connection = await connect(
      { name: first, definition, remedy: remedyFor(options.args) },
      { ...app, ...person },
      app.signal,
    );
    try {
      const offers = await offersOf(connection, app.signal);
      const isTried = options.callTools === true || calls !== undefined;
      const trials = isTried ? await tryEverything(connection, { ...offers, calls }, app.signal) : [];
      await shown.end();
      const report = { text: textOf(connection, offers, trials), json: jsonOf(connection, offers, trials) };
      await printReport({ ...report, notices: omissions(offers) }, options, app);
      return 0;
    } finally {
      await connection.close();
    }
  } finally {
    await shown.end();
  }
}

function remedyFor([command = '', ...args]: readonly string[]): string {
  if (/^https?:/i.test(command)) return 'Check the address.';
  if (args.length > 0 || !command.includes(' ')) return 'Check the command: run it by hand once to see what it says.';
  return `The program and its arguments are words of their own, without quotes: gmn mcp probe ${visible(command)}`;
}

/** Without a terminal no browser is opened, unless BROWSER names one and `--accept-defaults` is given. */
function mayOpen({ acceptDefaults: isAnswered }: McpProbeOptions, { io, env }: App): boolean {
  return io.err.isTerminal || (isAnswered === true && Boolean(env.BROWSER));
}

type Offers = Awaited<ReturnType<typeof offersOf>>;

async function offersOf(connection: Connection, signal: AbortSignal) {
  return {
    tools: await connection.listTools({ signal }),
    prompts: await connection.listPrompts({ signal }),
    resources: await connection.listResources({ signal }),
    templates: await connection.listResourceTemplates({ signal }),
  };
}

function omissions(offers: Offers): readonly string[] {
  return Object.values(offers).flatMap(({ omitted }) => omitted ?? []);
}

function textOf(connection: Connection, offers: Offers, trials: readonly Trial[]): string {
  const { serverInfo, protocolVersion, capabilities, instructions } = connection;
  const offered = Object.entries(capabilities).flatMap(([kind, isThere]) => (isThere ? [kind] : []));
  const head = [
    ['server', [serverInfo.name, serverInfo.version].map(visible).join(' ').trim()],
    ['protocol', visible(protocolVersion)],
    ['offers', offered.join(', ') || 'nothing'],
  ];
  const { tools, prompts, resources, templates } = offers;
  const lists = [
    section(
      'tools',
      tools.items.map((item) => [visible(item.name), firstLine(item.description)]),
    ),
    section(
      'prompts',
      prompts.items.map((item) => [visible(item.name), firstLine(item.description)]),
    ),
    section('resources', [
      ...resources.items.map((item) => [visible(item.uri), visible(item.name)]),
      ...templates.items.map((item) => [visible(item.uriTemplate), visible(item.name)]),
    ]),
    section(
      'tried',
      trials.map(({ what, error }) => [`${error === undefined ? '✓' : '✗'} ${visible(what)}`, error ?? '']),
    ),
  ];
  const words = instructions === undefined ? '' : `instructions\n${visibleLines(instructions).replace(/^/gm, '  ')}\n`;
  return table(head) + words + lists.join('');
}

function section(title: string, rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : `${title}\n${table(rows).replace(/^(?=.)/gm, '  ')}`;
}

function jsonOf(connection: Connection, offers: Offers, trials: readonly Trial[]): JsonObject {
  const { serverInfo, protocolVersion, capabilities, instructions } = connection;
  return {
    serverInfo: { ...serverInfo },
    protocolVersion,
    capabilities: { ...capabilities },
    ...(instructions === undefined ? {} : { instructions }),
    tools: offers.tools.items.map((item) => ({ ...item })),
    prompts: offers.prompts.items.map((item) => ({
      ...item,
      arguments: item.arguments.map((taken) => ({ ...taken })),
    })),
    resources: offers.resources.items.map((item) => ({ ...item })),
    resourceTemplates: offers.templates.items.map((item) => ({ ...item })),
    ...(trials.length === 0 ? {} : { trials: trials.map((trial) => ({ ...trial })) }),
  };
}
