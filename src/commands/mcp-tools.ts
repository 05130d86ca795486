import type { App } from '../core/app.ts';
import { isList, isObject, type JsonObject } from '../core/json.ts';
import { visible } from '../core/visible.ts';
import type { Listing, RemoteTool } from '../mcp/client/connection.ts';
import { type LookOptions, printLooks } from './mcp-look.ts';
import { firstLine } from './mcp-view.ts';

/** The tools of one server, or of all that may be used, with what they take. Exit code 5 if a server failed. */
export async function run(options: LookOptions, app: App): Promise<number> {
  return printLooks<Listing<RemoteTool>>(options, app, {
    command: 'mcp tools',
    none: 'no tools',
    ask: (connection, signal) => connection.listTools({ signal }),
    lines: ({ items }) => items.flatMap(toolLines),
    json: ({ items }) => ({ tools: items.map((tool) => ({ ...tool })) }),
    omitted: ({ omitted }) => omitted,
  });
}

function toolLines({ name, description, inputSchema }: RemoteTool): readonly string[] {
  const parameters = parameterWords(inputSchema);
  return [
    [visible(name), firstLine(description)].filter((text) => text !== '').join('  '),
    ...(parameters === '' ? [] : [`    ${parameters}`]),
  ];
}

/** `path* string, limit integer`: `*` marks what must be given. */
function parameterWords({ properties, required }: JsonObject): string {
  if (!isObject(properties)) return '';
  const needed = isList(required) ? required : [];
  return Object.entries(properties)
    .map(([name, schema]) => {
      const type = isObject(schema) && typeof schema.type === 'string' ? ` ${visible(schema.type)}` : '';
      return `${visible(name)}${needed.includes(name) ? '*' : ''}${type}`;
    })
    .join(', ');
}
