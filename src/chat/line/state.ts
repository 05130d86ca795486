import type { Buffer } from './buffer.ts';
import type { Folds } from './folds.ts';
import type { Layout } from './layout.ts';
import type { Menu } from './menu.ts';
import type { Search, Walk } from './recall.ts';

/** A line in the middle of being edited. Keys change it. */
export interface Editing {
  readonly line: Buffer;
  readonly pastes: Folds;
  /** Earlier entries, the oldest first. */
  readonly entries: () => readonly string[];
  /** Where everything stands now. */
  readonly layout: () => Layout;
  prompt: string;
  menu: Menu | undefined;
  walk: Walk | undefined;
  search: (Search & { readonly draft: string }) | undefined;
  /** Words to the person, until the next key. */
  note: string | undefined;
  /** When Ctrl+C was pressed, if no other key was since. */
  interruptedAt: number;
  /** What it took out of the line. */
  cleared: string;
  /** The column that Up and Down try to keep to. */
  goal: number | undefined;
  /** The first row that is shown of a line that is taller than the window. */
  top: number;
}

/** Whether a key was all used up by a mode of the line, or still has its usual meaning. */
export type Use = 'used' | 'free';
