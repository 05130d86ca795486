import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('the MCP SDK is in a file of its own, without its compiler of schemas', () => {
  const path = fileURLToPath(new URL('../../../dist/chunks.json', import.meta.url));
  const chunks: Readonly<Record<string, readonly string[]>> = JSON.parse(readFileSync(path, 'utf8'));
  const holders = Object.entries(chunks).filter(([, sources]) =>
    sources.some((source) => source.includes('@modelcontextprotocol/client')),
  );
  expect(holders.map(([name]) => name.replace(/-\w+\.js$/, ''))).toEqual(['sdk']);
  const sources = holders.flatMap(([, found]) => found);
  expect(sources.filter((source) => source.startsWith('src/'))).toEqual(['src/mcp/client/sdk.ts']);
  expect(sources.filter((source) => /ajv|cfWorker/.test(source))).toEqual([]);
});
