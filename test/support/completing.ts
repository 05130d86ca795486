import { join } from 'node:path';
import type { Command } from '../../src/cli/table/command.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { sessionStore } from '../../src/session/store.ts';
import { prompt } from '../export/samples.ts';
import type { GmnOptions } from './gmn.ts';
import { fixtureServer } from './mcp-place.ts';

export interface Found {
  readonly path: string;
  readonly command: Command;
}

function everyCommand(command: Command, path = 'gmn'): readonly Found[] {
  const children = command.subcommands ?? [];
  return [{ path, command }, ...children.flatMap((child) => everyCommand(child, `${path} ${child.name}`))];
}

export const COMMANDS = everyCommand(ROOT);

/** As they are typed. */
export function flagsOf({ command }: Found): readonly string[] {
  const own = command.flags.flatMap(({ short, long, aliases = [] }) => [
    ...(short ? [`-${short}`] : []),
    ...[long, ...aliases].map((name) => `--${name}`),
  ]);
  return [...own, '-h', '--help', '-v', '--version'];
}

export const SETTINGS: GmnOptions = {
  files: { 'notes.md': '', 'my file.txt': '', 'sub/deep.md': '' },
  home: {
    '.gemini/settings.json': JSON.stringify({
      mcpServers: {
        'my server': { command: 'x' },
        'a:b=c': { command: 'x' },
        'bad\nname': { command: 'x' },
        'two words': fixtureServer('files-mcp-server.mjs'),
      },
    }),
    '.gmn/templates/review.md': '---\ndescription: Looks at a change\n---\nReview it.\n',
    '.gmn/templates/empty.md': '',
  },
};

/** One of them has a name. */
export async function saveSessions(home: string, cwd: string): Promise<void> {
  const clock = { now: () => Date.UTC(2026, 0, 31), sleep: async () => {} };
  const ids = ['0a1b2c3d-0000-4000-8000-000000000001', '0a1b2c3e-0000-4000-8000-000000000002'];
  for (const [index, id] of ids.entries()) {
    const store = sessionStore({ home: join(home, '.gmn'), clock, version: '0', report: () => {} });
    const name = index === 0 ? { name: 'it\'s "my" trip: $1' } : {};
    const session = await store.create({ cwd, by: 'chat', id, ...name });
    await session.append(prompt('best month\u001b[31m for Kyoto?'));
    await session.close();
  }
}
