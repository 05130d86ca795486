import { AppError } from '../core/error.ts';
import type { Chat } from './chat.ts';

/** What came of something that can be cancelled. */
export type Outcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  /** The person does not want to wait until it has wound down; `rest` is fulfilled when it has. */
  | { readonly kind: 'left'; readonly rest: Promise<void> };

const NOTHING = (): void => {};

/**
 * Runs what an entry asked for. Esc or Ctrl+C aborts its signal, and only that; once more, and nobody waits for it any
 * longer, of which `hasLeft` tells. The system's signals abort it too. Throws what `work` throws.
 */
export async function cancellable<Result>(
  { lines, signal: chatSignal }: Chat,
  work: (signal: AbortSignal, hasLeft: () => boolean) => Promise<Result>,
): Promise<Outcome<Result>> {
  const controller = new AbortController();
  const follow = (): void => controller.abort(chatSignal.reason);
  let hasLeft = false;
  let leave: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    leave = () => {
      hasLeft = true;
      resolve();
    };
  });
  if (chatSignal.aborted) follow();
  chatSignal.addEventListener('abort', follow, { once: true });
  const unwatch = lines.watch(() => {
    if (controller.signal.aborted) leave();
    else controller.abort(new AppError('interrupted', '⏹ cancelled'));
  });
  try {
    const working = work(controller.signal, () => hasLeft);
    const rest = (): Promise<void> => working.then(NOTHING, NOTHING);
    return await Promise.race([
      left.then(() => ({ kind: 'left', rest: rest() }) as const),
      working.then((result) => ({ kind: 'done', result }) as const),
    ]);
  } finally {
    unwatch();
    chatSignal.removeEventListener('abort', follow);
  }
}
