import type { AppError } from '../core/error.ts';
import type { AnswerFile, TurnEvent } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';
import { type Renderer, showInOrder } from '../render/renderer.ts';
import { toStreamJson } from '../render/stream-json.ts';
import type * as Public from './gmn.d.ts';

interface CollectorOptions {
  readonly showThoughts: boolean;
  /** The value of an answer in JSON. May throw. */
  readonly readJson: ((text: string) => Promise<unknown>) | undefined;
  readonly emit: (event: Public.GmnEvent) => Promise<void>;
  readonly onFailure: (error: AppError, sessionId: string | undefined) => void;
}

/** The renderer of the library: events as objects, and at the end the whole answer. */
export function createAnswerCollector({ showThoughts, readJson, emit, onFailure }: CollectorOptions) {
  const texts: string[] = [];
  const files: Public.AnswerFile[] = [];
  const warnings: string[] = [];
  let answer: Public.Answer<unknown> | undefined;
  const pass = (event: JsonObject): Promise<void> => emit(dropUndefined(event) as unknown as Public.GmnEvent);
  const show = toStreamJson(pass, { showThoughts });

  const render: Renderer = async (event) => {
    switch (event.type) {
      case 'text':
        texts.push(event.delta);
        return show(event);
      case 'notice':
        warnings.push(event.message);
        return show(event);
      case 'file': {
        const file = await toPublicFile(event.file);
        files.push(file);
        return emit({ type: 'file', ...file });
      }
      case 'failure':
        return onFailure(event.error, event.sessionId);
      case 'end': {
        const text = texts.join('');
        const value = readJson === undefined ? {} : { json: await readJson(text) };
        answer = { ...toPublicAnswer(event, { text, files, warnings }), ...value } as Public.Answer<unknown>;
        // Nobody has to read the last event for the turn to be over.
        void show(event);
        return;
      }
      default:
        return show(event);
    }
  };
  return {
    render: showInOrder(render),
    /** Present once the turn has ended well. */
    answer: () => answer,
    partial: (): string | undefined => texts.join('') || undefined,
  };
}

type EndEvent = Extract<TurnEvent, { type: 'end' }>;

function toPublicAnswer(
  { model, usage, cost, finishReason, sessionId, sources, notices = [] }: EndEvent,
  { text, files, warnings }: Pick<Public.Answer, 'text' | 'files' | 'warnings'>,
): object {
  return dropUndefined({
    ...{ text, response: text, model, usage, cost, finishReason, sessionId, files, sources },
    warnings: [...warnings, ...notices],
  });
}

async function toPublicFile(file: AnswerFile): Promise<Public.AnswerFile> {
  const { toFileContent } = await import('../engine/answer/answer-files.ts');
  const { mimeType, bytes } = toFileContent(file);
  return { mimeType, data: new Uint8Array(bytes) };
}

/** A field that is absent is not there at all: `exactOptionalPropertyTypes` promises that. */
function dropUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}
