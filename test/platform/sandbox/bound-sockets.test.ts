import { expect, test } from 'vitest';
import { parseBoundSockets } from '../../../src/platform/sandbox/bound-sockets.ts';

test('of the sockets of a machine, those with a path are found', () => {
  const text = `Num       RefCount Protocol Flags    Type St Inode Path
00000000acad35a7: 00000003 00000000 00000000 0001 03 987615
0000000000000001: 00000002 00000000 00010000 0001 01 12 /run/docker.sock
0000000000000002: 00000002 00000000 00010000 0001 01 13 @/tmp/.X11-unix/X0
0000000000000003: 00000002 00000000 00010000 0001 01 14 /srv/with space/a b.sock
0000000000000004: 00000002 00000000 00010000 0001 01 15 relative.sock
`;
  expect(parseBoundSockets(text)).toEqual(['/run/docker.sock', '/srv/with space/a b.sock']);
  expect(parseBoundSockets('')).toEqual([]);
});
