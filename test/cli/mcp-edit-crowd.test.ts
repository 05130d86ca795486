import { expect, test } from 'vitest';
import { isLong } from '../support/fuzz.ts';
import { runGmnIn } from '../support/gmn.ts';
import { mcpPlace } from '../support/mcp-place.ts';

const COMMENTED = `// mine
{
  "mcpServers": {
    /* the first */
    "files": { "command": "node", "args": ["files.js"] }
  }
}
`;

test('many processes add a server each, and none is lost', { timeout: 120_000 }, async (t) => {
  const here = mcpPlace(t, {}, { home: { '.gemini/settings.json': COMMENTED } });
  const names = Array.from({ length: isLong ? 50 : 20 }, (_, index) => `s${index}`);
  const ran = await Promise.all(names.map((name) => runGmnIn(t, here, ['mcp', 'add', name, 'node', name])));
  expect(ran.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
  const { servers } = JSON.parse((await here.run(['mcp', 'list', '--json'])).stdout);
  expect(servers.map(({ name }: { name: string }) => name).sort()).toEqual(['files', ...names].sort());
  expect(here.read()).toContain('// mine');
  expect(here.read()).toContain('/* the first */');
});
