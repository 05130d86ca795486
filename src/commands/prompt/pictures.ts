import type { OpenedModel } from '../../app/model.ts';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { findModelFacts } from '../../models/table.ts';
import { isFromEnv } from './flag-names.ts';
import type { PromptOptions } from './options.ts';

/** The options of a turn that continues a session of pictures: its model, unless the user names another one. */
export function keepPictureModel(options: PromptOptions, model: string, env: Env): PromptOptions {
  const isNamed = options.model !== undefined && !isFromEnv('model', env, options.model);
  return isNamed || options.isPicture ? options : { ...options, model };
}

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
