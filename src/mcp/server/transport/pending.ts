import { isObject } from '../../../core/json.ts';
import type { SdkMessage } from '../sdk.ts';
import type { Service } from '../tool.ts';

/** The questions without an answer so far that need nobody else: no model, no job, no time. */
export interface Pending {
  heard(message: SdkMessage): void;
  sent(message: SdkMessage): void;
  /** Resolves when there are none. */
  none(): Promise<void>;
}

/** Nothing is pending at first. */
export function pending({ tools }: Pick<Service, 'tools'>): Pending {
  const ids = new Set<unknown>();
  let done: () => void = () => {};
  const remove = (id: unknown): void => {
    if (ids.delete(id) && ids.size === 0) done();
  };
  const isQuick = (method: string, params: Readonly<Record<string, unknown>> | undefined): boolean =>
    method !== 'tools/call' || tools.some(({ name, isQuick: quick }) => quick && name === params?.name);
  return {
    heard(message) {
      if (!('method' in message)) return;
      const { method, params } = message;
      if ('id' in message && isQuick(method, params)) ids.add(message.id);
      // What is taken back is not answered.
      if (method === 'notifications/cancelled' && isObject(params)) remove(params.requestId);
    },
    sent(message) {
      if ('id' in message && !('method' in message)) remove(message.id);
    },
    none: () =>
      ids.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            done = resolve;
          }),
  };
}
