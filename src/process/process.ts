import { pruneIfDue } from '../app/prune.ts';
import { type RunFlags, toRunSetup } from '../app/run-setup.ts';
import { nonInteractiveDenial } from '../approval/policy.ts';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { createTurnNotices } from '../engine/answer/turn-notices.ts';
import type { Host } from '../engine/host.ts';
import { Run } from '../engine/run.ts';
import type { OpenedConversation, SessionOptions } from '../engine/session/conversation.ts';
import { openLongConversation } from '../engine/session/long-conversation.ts';
import type { RunSetup } from '../engine/setup.ts';
import { type Line, splitLines, trimLine } from '../mcp/wire/lines.ts';
import { MAX_MESSAGE_BYTES } from '../mcp/wire/message.ts';
import { createAbortable, onAbort } from '../platform/runtime/abort.ts';
import { errorFields } from '../render/json-parts.ts';
import { encodeLine } from '../render/json-text.ts';
import { createStderr } from '../render/stderr.ts';
import { createRelay, type Relay } from './relay.ts';
import { findId, parseProcessLine, type Request } from './request.ts';
import { createTurnQueue, type TurnsOptions } from './turns.ts';

export interface ProcessOptions extends RunFlags, SessionOptions, TurnsOptions {
  readonly relayApprovals?: boolean;
}

/**
 * `--input-format stream-json`: one process, many turns, a JSON object a line in both directions. When the input has ended, the turns that
 * wait are run, too; returns the exit code of the worst. Throws AppError if nothing can be read or written, or the run cannot be opened.
 */
export async function runProcess(options: ProcessOptions, app: App): Promise<number> {
  const over = createAbortable();
  const stop = (reason: Error): void => over.abort(reason);
  const { signal } = app;
  if (signal.aborted) stop(signal.reason);
  onAbort(signal, () => stop(signal.reason));
  onAbort(over.signal, () => app.expireWrites(AppError.from(over.signal.reason)));
  const write = (event: JsonObject): Promise<void> => app.io.out.write(encodeLine(event));
  const notices = createTurnNotices();
  let turns: Turns | undefined;
  const relay = createRelay(({ type, ...event }) => write({ type, turn: turns?.current, ...event }));
  const host: Host = {
    notify: notices.notify,
    withPerson: options.relayApprovals ? relay.withPerson : undefined,
    explainDenial: async ({ tool }, scope) => {
      const { reason, advice } = nonInteractiveDenial(tool, scope, false);
      return { reason, advice: `${advice}, or start gmn with --relay-approvals and answer its "approval" events` };
    },
  };
  const conversation = await openLongConversation(options, app, host.notify);
  try {
    const run = await Run.open(toProcessSetup(options, conversation), app, host);
    try {
      const context = { app, run, conversation, write, signal: over.signal, onLost: stop, notices };
      turns = createTurnQueue(options, context);
      await takeRequests(app.stdin.read(over.signal), { turns, relay, write }).catch(stop);
      relay.close();
      const exitCode = await turns.finish();
      if (over.signal.aborted && !signal.aborted) throw over.signal.reason;
      if (conversation.sessionId !== undefined && !signal.aborted) await pruneIfDue(app);
      return signal.aborted ? AppError.from(signal.reason).exitCode : exitCode;
    } finally {
      await run.close();
      for (const message of notices.take()) await createStderr(app.io.err).notice(message);
    }
  } finally {
    await conversation.close();
  }
}

function toProcessSetup(options: ProcessOptions, { setup: kept }: OpenedConversation): RunSetup {
  const { model, tools, instruction, limits, answer } = toRunSetup(options);
  return {
    model,
    tools,
    instruction: { ...instruction, isChat: true },
    limits: { ...limits, timing: 'request', costHint: 'Start it again with -r and a higher --max-cost.' },
    answer: { ...answer, showsCost: true },
    session: { kept, kind: 'prompt' },
  };
}

type Turns = ReturnType<typeof createTurnQueue>;

interface RequestContext {
  readonly turns: Turns;
  readonly relay: Relay;
  readonly write: (event: JsonObject) => Promise<void>;
}

/** Until the input ends. Reads on when there is room in the output. Throws what reading and writing throw. */
async function takeRequests(input: AsyncIterable<Uint8Array>, context: RequestContext): Promise<void> {
  let number = 0;
  for await (const line of splitLines(input, { maxBytes: MAX_MESSAGE_BYTES, tooLong: 'skip' })) {
    number += 1;
    await takeLine(line, number, context);
  }
}

async function takeLine(line: Line, number: number, context: RequestContext): Promise<void> {
  const text = 'text' in line ? trimLine(line.text) : undefined;
  if (text === '') return;
  const refuse = (error: AppError): Promise<void> => {
    const id = text === undefined ? undefined : findId(text);
    return context.write({ type: 'error', line: number, id, error: errorFields(error) });
  };
  let written: Promise<void> | undefined;
  try {
    if (text === undefined) throw tooLongError();
    if ('isInexact' in line) throw new AppError('usage', 'the line is not UTF-8', { hint: 'Encode it as UTF-8.' });
    written = takeRequest(parseProcessLine(text), text.length, refuse, context);
  } catch (thrown) {
    written = refuse(AppError.from(thrown));
  }
  await written;
}

/** Throws AppError at once for a request that cannot be met; the promise is about what is written. */
function takeRequest(
  request: Request,
  bytes: number,
  refuse: (error: AppError) => Promise<void>,
  { turns, relay, write }: RequestContext,
): Promise<void> | undefined {
  switch (request.type) {
    case 'prompt':
      return turns.add(request, bytes);
    case 'cancel':
      return turns.cancel(request.id);
    case 'set':
      void turns.set(request, refuse);
      return undefined;
    case 'approve':
      if (relay.answer(request)) return undefined;
      throw new AppError('usage', `no call with the id "${request.call}" waits for an approval`, {
        hint: 'It was answered or withdrawn, or gmn runs without --relay-approvals.',
      });
    case 'ping':
      return write({ type: 'pong' });
  }
}

function tooLongError(): AppError {
  return new AppError('limit', `the line is longer than ${MAX_MESSAGE_BYTES / 1_000_000} MB`, {
    hint: 'Send a long file as {"fileData"}: gmn files --help',
  });
}
