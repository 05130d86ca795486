import { formatFirstLine } from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Listing, RemotePrompt } from '../../mcp/client/types.ts';
import { type InspectOptions, printLists } from './listing.ts';

export async function run(options: InspectOptions, app: App): Promise<number> {
  return printLists<Listing<RemotePrompt>>(options, app, {
    command: 'mcp prompts',
    none: 'no prompts',
    ask: (connection) => connection.listPrompts({ signal: app.signal }),
    lines: ({ items }) => items.flatMap(formatPromptRow),
    json: ({ items }) => ({ prompts: items.map(toPromptJson) }),
    notes: ({ omitted }) => (omitted === undefined ? [] : [omitted]),
  });
}

function formatPromptRow({ name, description, arguments: taken }: RemotePrompt): readonly string[] {
  const words = taken.map((argument) => `${sanitize(argument.name)}${argument.isRequired ? '*' : ''}`).join(', ');
  return [
    [sanitize(name), formatFirstLine(description)].filter((text) => text !== '').join('  '),
    ...(words === '' ? [] : [`    ${words}`]),
  ];
}

function toPromptJson({ arguments: taken, ...prompt }: RemotePrompt) {
  const args = taken.map(({ isRequired, ...argument }) => ({ ...argument, required: isRequired }));
  return { ...prompt, arguments: args };
}
