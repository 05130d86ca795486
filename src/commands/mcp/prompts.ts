import { firstLine } from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { visible } from '../../core/text/terminal.ts';
import type { Listing, RemotePrompt } from '../../mcp/client/types.ts';
import { type LookOptions, printLooks } from './offers.ts';

/** Lists the prompts and their arguments. Exit code 5 if a server failed. */
export async function run(options: LookOptions, app: App): Promise<number> {
  return printLooks<Listing<RemotePrompt>>(options, app, {
    command: 'mcp prompts',
    none: 'no prompts',
    ask: (connection) => connection.listPrompts({ signal: app.signal }),
    lines: ({ items }) => items.flatMap(promptLines),
    json: ({ items }) => ({ prompts: items.map(promptJson) }),
    notes: ({ omitted }) => (omitted === undefined ? [] : [omitted]),
  });
}

function promptLines({ name, description, arguments: taken }: RemotePrompt): readonly string[] {
  const words = taken.map((argument) => `${visible(argument.name)}${argument.isRequired ? '*' : ''}`).join(', ');
  return [
    [visible(name), firstLine(description)].filter((text) => text !== '').join('  '),
    ...(words === '' ? [] : [`    ${words}`]),
  ];
}

function promptJson({ arguments: taken, ...prompt }: RemotePrompt) {
  const args = taken.map(({ isRequired, ...argument }) => ({ ...argument, required: isRequired }));
  return { ...prompt, arguments: args };
}
