import type { TurnEvent } from '../core/event.ts';
import type { Clock, Io } from '../core/io.ts';
import type { TextWork } from '../core/text-work.ts';

/** Shows one run: is given its events in order, one at a time, up to and with the Ending. */
export type Renderer = (event: TurnEvent) => Promise<void>;

/** Makes a renderer. Writes nothing before the first event. */
export type MakeRenderer = (io: Io, options: RenderOptions) => Renderer;

/** Calls `action` every `ms` until the returned function is called. */
interface Ticker {
  every(ms: number, action: () => void): () => void;
}

export interface RenderOptions {
  /** No progress, no notices, no usage line; errors stay. */
  readonly quiet: boolean;
  readonly showThoughts: boolean;
  readonly showUsage: boolean;
  /** `auto`: Markdown is laid out if stdout is a terminal, and not `isDumb`. */
  readonly render: 'auto' | 'always' | 'never';
  /** The model's control sequences may reach a terminal. */
  readonly rawOutput: boolean;
  /** TERM=dumb, or a screen reader: nothing is laid out unasked, nothing is redrawn. */
  readonly isDumb: boolean;
  readonly dialect: 'gmn' | 'gemini';
  /** The prompt as it was typed; the gemini dialect repeats it. */
  readonly prompt: string;
  /** In a chat every answer of a tool has its line, and notices stand without our name. Absent: not. */
  readonly isChat?: boolean;
  /** Keeps long text from blocking. Absent: what is hard to lay out is shown as it was written. */
  readonly openTextWork?: () => Promise<TextWork>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ticker: Ticker;
}
