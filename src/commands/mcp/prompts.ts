import { formatFirstLine } from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Listing, RemotePrompt } from '../../mcp/client/types.ts';
import { type InspectOptions, printLists } from './listing.ts';

export async function run(options: InspectOptions, app: App): Promise<number> {
  return printLists<Listing<RemotePrompt>>(options, app, {
    command: 'mcp prompts',
    none: 'no prompts',
    load: (connection) => connection.listPrompts({ signal: app.signal }),
    formatLines: ({ items }) => items.flatMap(formatPromptRow),
    toJson: ({ items }) => ({ prompts: items.map(toPromptJson) }),
    listNotices: ({ omitted }) => (omitted === undefined ? [] : [omitted]),
  });
}

function formatPromptRow({ name, description, arguments: args }: RemotePrompt): readonly string[] {
  const names = args.map((argument) => `${sanitize(argument.name)}${argument.isRequired ? '*' : ''}`).join(', ');
  return [
    [sanitize(name), formatFirstLine(description)].filter((text) => text !== '').join('  '),
    ...(names === '' ? [] : [`    ${names}`]),
  ];
}

function toPromptJson({ arguments: list, ...prompt }: RemotePrompt) {
  const args = list.map(({ isRequired, ...argument }) => ({ ...argument, required: isRequired }));
  return { ...prompt, arguments: args };
}
