import { sha256 } from '../platform/runtime/native.ts';

const FIRST_SLOTS = 1024;
/** Of all slots; more makes searching slow. */
const MAX_FILL = 0.7;

/**
 * What is known of each id, in about 15 bytes, however long the id is: 64 bits of its hash stand for it. That two of ten
 * million ids share them has a chance of one in 300,000.
 */
export interface IdTable {
  /** 0 if the id is not there. */
  get(id: string): number;
  /** From 1 to 255. */
  set(id: string, mark: number): void;
  readonly size: number;
}

export function createIdTable(): IdTable {
  let high = new Uint32Array(FIRST_SLOTS);
  let low = new Uint32Array(FIRST_SLOTS);
  let marks = new Uint8Array(FIRST_SLOTS);
  let size = 0;
  /** The slot of the hash, or the free one where it belongs. */
  const findSlot = (a: number, b: number): number => {
    const mask = marks.length - 1;
    let slot = b & mask;
    while (marks[slot] !== 0 && (high[slot] !== a || low[slot] !== b)) slot = (slot + 1) & mask;
    return slot;
  };
  const grow = (): void => {
    const [oldHigh, oldLow, oldMarks] = [high, low, marks];
    const slots = 2 * oldMarks.length;
    [high, low, marks] = [new Uint32Array(slots), new Uint32Array(slots), new Uint8Array(slots)];
    oldMarks.forEach((mark, at) => {
      if (mark !== 0) put(oldHigh[at] ?? 0, oldLow[at] ?? 0, mark);
    });
  };
  const put = (a: number, b: number, mark: number): void => {
    const slot = findSlot(a, b);
    if (marks[slot] === 0) {
      high[slot] = a;
      low[slot] = b;
    }
    marks[slot] = mark;
  };
  return {
    get(id) {
      const [a, b] = toHash(id);
      return marks[findSlot(a, b)] ?? 0;
    },
    set(id, mark) {
      const [a, b] = toHash(id);
      if (marks[findSlot(a, b)] === 0) {
        size += 1;
        if (size > MAX_FILL * marks.length) grow();
      }
      put(a, b, mark);
    },
    get size() {
      return size;
    },
  };
}

function toHash(id: string): readonly [number, number] {
  const digest = sha256(id);
  return [Number.parseInt(digest.slice(0, 8), 16), Number.parseInt(digest.slice(8, 16), 16)];
}
