import { expect, test } from 'vitest';
import { AppError } from '../../../../src/core/error.ts';
import { createResourceReader } from '../../../../src/engine/tools/servers/resources.ts';
import type { Connection } from '../../../../src/mcp/client/types.ts';

const SIGNAL = new AbortController().signal;

/** What a mention, given all it may be, reads of a server `notes` that has these resources. */
async function uriOf(mentions: readonly string[], uris: readonly string[]): Promise<string | undefined> {
  const connection = {
    isOpen: true,
    listResources: async () => ({ items: uris.map((uri) => ({ uri, name: uri, description: '' })) }),
    readResource: async (uri: string) => {
      if (!uris.includes(uri)) throw new AppError('mcp', 'no such resource');
      return [{ uri, text: uri }];
    },
  } as unknown as Connection;
  const server = { name: 'notes' } as unknown as Parameters<
    typeof createResourceReader
  >[0]['servers'][number]['server'];
  const pool = { connect: async () => connection, close: async () => {} };
  return (await createResourceReader({ servers: [{ server }], pool })(mentions, SIGNAL))?.uri;
}

test.for<readonly [mention: string, uris: readonly string[], found: string | undefined]>([
  ['notes:memo://1', ['memo://1'], 'memo://1'],
  ['notes://1', ['notes://1', 'memo://1'], 'notes://1'],
  ['notes://memo://1', ['memo://1'], 'memo://1'],
  ['notes://1', ['memo://1'], 'memo://1'],
  ['notes://1', ['memo://1', 'other://1'], undefined],
  ['notes://2', ['memo://1'], undefined],
  ['other://1', ['other://1'], undefined],
  ['notes:', ['notes:'], undefined],
])('@%s among %j is %s', async ([mention, uris, found]) => {
  expect(await uriOf([`${mention},`, mention], uris)).toBe(found);
});
