import { createSerial } from '../core/async.ts';
import type { TurnEvent } from '../core/event.ts';
import type { Clock, Io, Ticker } from '../core/io.ts';
import type { LiveArea } from './live.ts';
import type { PictureProtocol } from './picture.ts';

/** Shows one run. Receives its events in order, one at a time, including the last one (`end` or `failure`). */
export type Renderer = (event: TurnEvent) => Promise<void>;

/** A renderer that may be called before it is done: notices come between the events of a turn. */
export function showInOrder(render: Renderer): Renderer {
  const inOrder = createSerial();
  return (event) => inOrder(() => render(event));
}

/** Writes nothing before the first event. */
export type MakeRenderer = (io: Io, options: RenderOptions) => Renderer;

export interface RenderOptions {
  readonly quiet: boolean;
  readonly showThoughts: boolean;
  readonly showUsage: boolean;
  /** `auto`: lay out Markdown if stdout is a terminal and not `isDumb`. */
  readonly render: 'auto' | 'always' | 'never';
  /** Lets the model's control sequences reach a terminal. */
  readonly rawOutput: boolean;
  /** TERM=dumb, or a screen reader: no layout unless asked for, no redrawing. */
  readonly isDumb: boolean;
  readonly dialect: 'gmn' | 'gemini';
  readonly prompt: string;
  /** Stands in every line of stream-json: which of many turns it belongs to. */
  readonly turn?: string;
  /** How stdout shows pictures, if it is a terminal that does; else nothing binary is written there. Asked for the first one. */
  readonly findPictures?: () => Promise<PictureProtocol | undefined>;
  /** In a chat every tool result has its line, and notices have no `gmn: ` prefix. */
  readonly isChat?: boolean;
  /** Where text flows on a terminal, if it is not the renderer's own: the creator sets its footer, and closes it. */
  readonly live?: LiveArea;
  readonly pause?: () => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ticker: Ticker;
}
