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

/** What the kernel would do with a call: the four operations that the filter uses. */
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
    else at += 8 * ((code === 0x15 ? loaded === value : loaded >= (value ?? 0)) ? (ifTrue ?? 0) : (ifFalse ?? 0));
  }
  throw new Error('the filter has no end');
}

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
