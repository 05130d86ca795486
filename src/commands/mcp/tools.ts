import { formatChangedHint, formatFirstLine, sanitizeLines } from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { isList, isObject, type JsonObject } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { isWantedTool } from '../../mcp/client/definition.ts';
import type { ConfiguredServer } from '../../mcp/client/servers.ts';
import { fetchToolList, findChangedTools, recordTools } from '../../mcp/client/tools/cache.ts';
import { describeSchemaFaults } from '../../mcp/client/tools/registration.ts';
import type { Connection, Listing, RemoteTool } from '../../mcp/client/types.ts';
import { type InspectOptions, printLists } from './listing.ts';

interface InspectedTools extends Listing<RemoteTool> {
  readonly changed: readonly RemoteTool[];
  readonly unwanted: readonly RemoteTool[];
  readonly faults: readonly string[];
}

/** A changed tool is shown in full, and offered to the model again once a person has seen it on a terminal. */
export async function run(options: InspectOptions, app: App): Promise<number> {
  const isReviewed = options.args.length > 0 && !options.json && app.io.out.isTerminal;
  const inspected: { readonly server: ConfiguredServer; readonly tools: readonly RemoteTool[] }[] = [];
  const exitCode = await printLists<InspectedTools>(options, app, {
    command: 'mcp tools',
    none: 'no tools',
    async load(connection, server) {
      const found = await inspectTools(connection, server, app);
      inspected.push({ server, tools: found.items });
      return found;
    },
    formatLines: ({ items, ...found }) => items.flatMap((tool) => formatTool(tool, found)),
    toJson: ({ items, changed, unwanted }) => ({
      tools: items.map((tool) => ({
        ...tool,
        changed: changed.includes(tool) ? true : undefined,
        excluded: unwanted.includes(tool) ? true : undefined,
      })),
    }),
    listNotices: ({ omitted, changed, faults }, server) => [
      ...(omitted === undefined ? [] : [omitted]),
      ...faults,
      ...(changed.length === 0 || isReviewed ? [] : [formatChangedHint(server)]),
    ],
  });
  // Recorded only after printing; changed tools only if a person has seen them.
  for (const { server, tools } of inspected)
    await recordTools(server, tools, { context: app, which: isReviewed ? 'all' : 'new' });
  return exitCode;
}

async function inspectTools(connection: Connection, server: ConfiguredServer, app: App): Promise<InspectedTools> {
  const { tools: items, omitted } = await fetchToolList(server, connection, { context: app, signal: app.signal });
  return {
    items,
    omitted,
    faults: describeSchemaFaults(server, items),
    changed: findChangedTools(server, items, app),
    unwanted: items.filter(({ name }) => !isWantedTool(server.definition, name)),
  };
}

function formatTool(tool: RemoteTool, { changed, unwanted }: Omit<InspectedTools, 'items'>): readonly string[] {
  const { name, description, inputSchema } = tool;
  const isChanged = changed.includes(tool);
  const parameters = formatParameters(inputSchema);
  const mark = unwanted.includes(tool) ? '(not offered to the model)' : '';
  const about = isChanged ? '(changed)' : formatFirstLine(description);
  return [
    [sanitize(name), mark, about].filter((text) => text !== '').join('  '),
    ...(isChanged
      ? sanitizeLines(description)
          .split('\n')
          .map((line) => `    ${line}`)
      : []),
    ...(parameters === '' ? [] : [`    ${parameters}`]),
    ...(isChanged ? [`    ${sanitize(JSON.stringify(inputSchema))}`] : []),
  ];
}

/** `path* string, limit integer`: `*` marks required parameters. */
function formatParameters({ properties, required }: JsonObject): string {
  if (!isObject(properties)) return '';
  const needed = isList(required) ? required : [];
  return Object.entries(properties)
    .map(([name, schema]) => {
      const type = isObject(schema) && typeof schema.type === 'string' ? ` ${sanitize(schema.type)}` : '';
      return `${sanitize(name)}${needed.includes(name) ? '*' : ''}${type}`;
    })
    .join(', ');
}
