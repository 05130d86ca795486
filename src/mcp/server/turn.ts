import { AppError } from '../../core/error.ts';
import type { AnswerFile, Source } from '../../core/event.ts';
import { NO_USAGE, type Usage } from '../../core/usage.ts';
import type { Engine, TurnRequest } from './engine.ts';
import { dropShellAdvice } from './errors.ts';
import type { Progress } from './progress.ts';
import { NO_ROOT } from './roots.ts';

export interface Answer {
  readonly text: string;
  readonly model: string;
  readonly usage: Usage;
  /** In dollars; absent if it is not known. */
  readonly cost?: number;
  readonly finishReason: string;
  readonly sources?: readonly Source[];
  /** Pictures and other files of the answer; they are not saved anywhere. */
  readonly files: readonly AnswerFile[];
  /** Present only if the whole turn is saved there. */
  readonly sessionId?: string;
  readonly notices: readonly string[];
  readonly refused: readonly string[];
}

interface TurnListener {
  readonly progress: Progress;
  readonly onModel?: (model: string) => void;
  readonly onText?: (delta: string) => void;
  readonly onRefused?: (refused: readonly string[]) => void;
}

/** In characters; a longer answer is an error, to bound memory. */
const MAX_ANSWER_CHARS = 16_000_000;

/** A session without a directory gets a notice that says why it saw no files. Throws AppError. */
export async function collectAnswer(engine: Engine, request: TurnRequest, listener: TurnListener): Promise<Answer> {
  const turn = await engine.startTurn(request);
  let text = '';
  const files: AnswerFile[] = [];
  const seesNoFiles = request.storage.kind === 'session' && request.directory === undefined;
  const notices: string[] = seesNoFiles ? [NO_ROOT] : [];
  for await (const event of turn.events) {
    listener.progress.onEvent(event);
    if (event.type === 'begin') listener.onModel?.(event.model);
    if (event.type === 'text') {
      text += event.delta;
      if (text.length > MAX_ANSWER_CHARS) throw tooLongAnswerError();
      listener.onText?.(event.delta);
    }
    if (event.type === 'file') files.push(event.file);
    if (event.type === 'notice') notices.push(dropShellAdvice(event.message));
    if (event.type === 'answer') listener.onRefused?.(turn.refused);
    if (event.type === 'failure') throw addAdvice(event.error, seesNoFiles);
    if (event.type === 'end') {
      const { model, usage = NO_USAGE, cost, finishReason, sources, sessionId, notices: last = [] } = event;
      notices.push(...last.map(dropShellAdvice));
      return { text, model, usage, cost, finishReason, sources, sessionId, files, notices, refused: turn.refused };
    }
  }
  throw new AppError('internal', 'the turn ended without a final event');
}

function addAdvice(error: AppError, seesNoFiles: boolean): AppError {
  const { hint = '' } = error;
  const objection = error.fault === 'api' ? error.details.objection : undefined;
  if (seesNoFiles && objection === 'tools') return error.with({ hint: NO_ROOT });
  if (objection !== 'model') return error;
  return error.with({ hint: `${hint.endsWith('.') ? hint : `${hint}.`} ${OTHER_MODELS}` });
}

const OTHER_MODELS = 'The resource gmn://models lists those gmn knows: any of them can be given as `model`.';

function tooLongAnswerError(): AppError {
  return new AppError('limit', `the answer is longer than ${MAX_ANSWER_CHARS / 1_000_000} million characters`, {
    hint: 'Ask for less at once.',
  });
}
