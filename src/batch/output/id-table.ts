import { sha256 } from '../../platform/runtime/native.ts';

const FIRST_SLOTS = 16_384;
/** The share of a level's slots in use; a fuller level is slow to search. */
const MAX_FILL = 0.75;

export type IdTable = ReturnType<typeof createIdTable>;

/** A mark has a byte, or four. */
type Marks = typeof Uint8Array | typeof Uint32Array;

/**
 * A mark for each id, in about 15 bytes (19 with marks of four) however long the id is: 64 bits of its hash stand for it. The chance that two of ten
 * million ids collide is one in 300,000. When it is full, a further level is added and nothing is moved: a table that is copied to grow needs three times its memory
 * for a moment, and until the next garbage collection.
 */
export function createIdTable(marks: Marks = Uint8Array) {
  let newest = createLevel(FIRST_SLOTS, marks);
  const levels = [newest];
  let slots = FIRST_SLOTS;
  return {
    get(id: string): number {
      const [high, low] = toHash(id);
      for (const level of levels) {
        const mark = level.get(high, low);
        if (mark !== 0) return mark;
      }
      return 0;
    },
    /** From 1 to the largest that fits: 255 by default. */
    set(id: string, mark: number): void {
      const [high, low] = toHash(id);
      const level = levels.find((each) => each.get(high, low) !== 0);
      if (level === undefined && newest.size >= MAX_FILL * newest.slots) {
        newest = createLevel(Math.ceil(slots / 2), marks);
        slots += newest.slots;
        // The largest is the most likely to have an id.
        levels.unshift(newest);
      }
      (level ?? newest).set(high, low, mark);
    },
    /** How many ids have a mark with all these bits. */
    count: (bits: number): number => levels.reduce((sum, level) => sum + level.count(bits), 0),
    get size(): number {
      return levels.reduce((sum, { size }) => sum + size, 0);
    },
    /** Forgets all ids, and lets go of their memory. */
    clear(): void {
      newest = createLevel(FIRST_SLOTS, marks);
      slots = FIRST_SLOTS;
      levels.splice(0, levels.length, newest);
    },
  };
}

function createLevel(slots: number, Marks: Marks) {
  const highs = new Uint32Array(slots);
  const lows = new Uint32Array(slots);
  const marks: Uint8Array | Uint32Array = new Marks(slots);
  let size = 0;
  /** The slot of the hash, or the free one where it belongs. */
  const findSlot = (high: number, low: number): number => {
    let slot = low % slots;
    while (marks[slot] !== 0 && (lows[slot] !== low || highs[slot] !== high)) slot = slot + 1 === slots ? 0 : slot + 1;
    return slot;
  };
  return {
    slots,
    get: (high: number, low: number): number => marks[findSlot(high, low)] ?? 0,
    set(high: number, low: number, mark: number): void {
      const slot = findSlot(high, low);
      if (marks[slot] === 0) size += 1;
      highs[slot] = high;
      lows[slot] = low;
      marks[slot] = mark;
    },
    count(bits: number): number {
      let count = 0;
      for (const mark of marks) if ((mark & bits) === bits) count += 1;
      return count;
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
