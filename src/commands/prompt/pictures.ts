import type { OpenedModel } from '../../app/model.ts';
import { AppError } from '../../core/error.ts';
import { findModelFacts } from '../../models/table.ts';

/** Throws AppError: `auth` for a backend that makes no pictures, `usage` for a model that is known not to. */
export function checkPictures({ backend, modelId }: Pick<OpenedModel, 'backend' | 'modelId'>): void {
  if (backend === 'code-assist') {
    throw new AppError('auth', 'Code Assist, which a Google login uses, makes no pictures', {
      hint: 'Use an API key instead: set GEMINI_API_KEY, or run gmn auth set-key.',
    });
  }
  const facts = findModelFacts(modelId);
  if (facts === undefined || facts.makes === 'images') return;
  throw new AppError('usage', `${modelId} makes no pictures`, {
    hint: 'Leave -m out, or name a model that does: gmn models',
  });
}
