import { expect, test } from 'vitest';
import { createAbortable, onAbort } from '../../../src/platform/runtime/abort.ts';

/** Our own signal, and one of Node's. */
const makers = [
  ['abortable', createAbortable],
  ['AbortController', () => new AbortController()],
] as const;

test.for(makers)('%s: those who wait are called once, in order, and find the reason', ([, make]) => {
  const controller = make();
  const { signal } = controller;
  const calls: unknown[] = [];
  onAbort(signal, () => calls.push('first', signal.reason));
  onAbort(signal, () => calls.push('second'));
  signal.addEventListener('abort', () => calls.push('listener'));
  controller.abort('reason');
  controller.abort('another');
  expect(calls.filter((call) => call !== 'listener')).toEqual(['first', 'reason', 'second']);
  expect(calls).toContain('listener');
});

test.for(makers)('%s: who has let go is not called, even by one who was called before', ([, make]) => {
  const controller = make();
  const calls: string[] = [];
  onAbort(controller.signal, () => dropReply());
  const dropReply = onAbort(controller.signal, () => calls.push('second'));
  onAbort(controller.signal, () => calls.push('first'))();
  controller.abort('reason');
  expect(calls).toEqual([]);
});

test.for(makers)('%s: who comes after the abort is not called', ([, make]) => {
  const controller = make();
  controller.abort('reason');
  onAbort(controller.signal, () => expect.unreachable());
  controller.abort('again');
  expect(controller.signal.reason).toBe('reason');
});
