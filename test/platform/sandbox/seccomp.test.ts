import { expect, test } from 'vitest';
import { createSeccompFilter } from '../../../src/platform/sandbox/seccomp.ts';

const ALLOW = 0x7fff0000;
const REFUSE = 0x00050001;
const KILL = 0x80000000;
const NO_FAMILY = 0x00050061;

interface Call {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly number[];
}

const MISSING = 0x00050026;

/** What the kernel would do with a call: the five operations that the filter uses. */
function runFilter(filter: Uint8Array, { arch, number, args = [] }: Call): number {
  const view = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  const data = new Map([[0, number], [4, arch], ...args.map((value, index) => [16 + 8 * index, value] as const)]);
  let loaded = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const [code, ifTrue, ifFalse, value] = [
      ...[view.getUint16(at, true), view.getUint8(at + 2), view.getUint8(at + 3), view.getUint32(at + 4, true)],
    ] as const;
    if (code === 0x20) loaded = data.get(value ?? 0) ?? 0;
    else if (code === 0x06) return value ?? 0;
    else {
      const isSo = { 21: loaded === value, 53: loaded >= (value ?? 0), 69: (loaded & (value ?? 0)) !== 0 }[code];
      at += 8 * (isSo ? (ifTrue ?? 0) : (ifFalse ?? 0));
    }
  }
  throw new Error('the filter has no end');
}

const CREATE = 0x41;
const UNNAMED = 0x410001;
const READ_ONLY = 0;
const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;

test.each([
  ['read is allowed', 'x64', { arch: X64, number: 0 }, ALLOW],
  ['ptrace is refused', 'x64', { arch: X64, number: 101 }, REFUSE],
  ['keyctl is refused', 'x64', { arch: X64, number: 250 }, REFUSE],
  ['the last of the list is refused', 'x64', { arch: X64, number: 227 }, REFUSE],
  ['calls of 32-bit programs have other numbers', 'x64', { arch: 0x40000003, number: 3 }, KILL],
  ['nor is there x32', 'x64', { arch: X64, number: 0x40000000 + 101 }, REFUSE],
  ['an ordinary ioctl is allowed', 'x64', { arch: X64, number: 16, args: [0, 0x5413] }, ALLOW],
  ['typing into the terminal is refused', 'x64', { arch: X64, number: 16, args: [0, 0x5412] }, REFUSE],
  ['IPv6 is allowed', 'x64', { arch: X64, number: 41, args: [10] }, ALLOW],
  ['a socket to the host of a virtual machine is refused', 'x64', { arch: X64, number: 41, args: [40] }, NO_FAMILY],
  ['and so is any other family', 'arm64', { arch: ARM64, number: 198, args: [38] }, NO_FAMILY],
  ['a call after those in the list is allowed', 'x64', { arch: X64, number: 42, args: [40] }, ALLOW],
  ['a unix socket is allowed', 'x64', { arch: X64, number: 41, args: [1] }, ALLOW],
  ['chmod 755 is allowed', 'x64', { arch: X64, number: 90, args: [1, 0o755] }, ALLOW],
  ['chmod u+s is refused', 'x64', { arch: X64, number: 90, args: [1, 0o4755] }, REFUSE],
  ['fchmod g+s is refused', 'x64', { arch: X64, number: 91, args: [1, 0o2755] }, REFUSE],
  ['fchmodat with both is refused', 'x64', { arch: X64, number: 268, args: [1, 1, 0o106755] }, REFUSE],
  ['fchmodat2 is refused with a bit', 'x64', { arch: X64, number: 452, args: [1, 1, 0o4000] }, REFUSE],
  ['the sticky bit is allowed', 'x64', { arch: X64, number: 452, args: [1, 1, 0o1777] }, ALLOW],
  ['creat of such a file is refused', 'x64', { arch: X64, number: 85, args: [1, 0o4755] }, REFUSE],
  ['mknod of such a file is refused', 'x64', { arch: X64, number: 133, args: [1, 0o104755] }, REFUSE],
  ['mknodat of such a file is refused', 'x64', { arch: X64, number: 259, args: [1, 1, 0o104755] }, REFUSE],
  ['open makes no such file', 'x64', { arch: X64, number: 2, args: [1, CREATE, 0o4755] }, REFUSE],
  ['openat makes no such file', 'x64', { arch: X64, number: 257, args: [1, 1, CREATE, 0o2755] }, REFUSE],
  ['nor one without a name', 'x64', { arch: X64, number: 257, args: [1, 1, UNNAMED, 0o4755] }, REFUSE],
  ['openat makes ordinary files', 'x64', { arch: X64, number: 257, args: [1, 1, CREATE, 0o644] }, ALLOW],
  [
    'where nothing is made, the mode is not read',
    'x64',
    { arch: X64, number: 257, args: [1, 1, READ_ONLY, 0o4755] },
    ALLOW,
  ],
  ['openat2, whose mode cannot be seen, is missing', 'x64', { arch: X64, number: 437 }, MISSING],
  ['fchmod on arm64 is refused', 'arm64', { arch: ARM64, number: 52, args: [1, 0o4755] }, REFUSE],
  ['fchmodat on arm64 is refused', 'arm64', { arch: ARM64, number: 53, args: [1, 1, 0o4755] }, REFUSE],
  ['mknodat on arm64 is refused', 'arm64', { arch: ARM64, number: 33, args: [1, 1, 0o4755] }, REFUSE],
  ['openat on arm64 is refused', 'arm64', { arch: ARM64, number: 56, args: [1, 1, CREATE, 0o4755] }, REFUSE],
  ['openat2 on arm64 is missing', 'arm64', { arch: ARM64, number: 437 }, MISSING],
  ['chmod of x64 is something else on arm64', 'arm64', { arch: ARM64, number: 90, args: [1, 0o4755] }, ALLOW],
  ['ptrace on arm64 is refused', 'arm64', { arch: ARM64, number: 117 }, REFUSE],
  ['101 is something else there', 'arm64', { arch: ARM64, number: 101 }, ALLOW],
] as const)('%s', (_, machine, call, result) => {
  const filter = createSeccompFilter({ refusesUnixSockets: false }, machine);
  expect(runFilter(filter ?? Uint8Array.of(), call)).toBe(result);
});

test('with the network of the host, unix sockets are refused and others are not', () => {
  const filter = createSeccompFilter({ refusesUnixSockets: true }, 'x64') ?? Uint8Array.of();
  expect(runFilter(filter, { arch: X64, number: 41, args: [1] })).toBe(REFUSE);
  expect(runFilter(filter, { arch: X64, number: 41, args: [2] })).toBe(ALLOW);
  expect(runFilter(filter, { arch: X64, number: 53, args: [1] })).toBe(ALLOW);
});

test('there is no filter for a machine whose numbers are not known', () => {
  expect(createSeccompFilter({ refusesUnixSockets: false }, 's390x')).toBeUndefined();
});
