import { AppError } from '../../core/error.ts';
import type { Place } from './fence.ts';

/** What may hold secrets is read only after a person said yes. */
export function sensitive({ name }: Place): AppError {
  return new AppError('usage', `${name} may hold secrets and was not read`, {
    hint: 'Only the user can allow that. Go on without it, or ask the user for what you need to know.',
  });
}

/** There is nothing to open. */
export function absent(): AppError {
  return new AppError('usage', 'there is no such file', { hint: 'Look with list_directory or glob.' });
}

/** A file that exists is written only after it was read as it is. */
export function unread({ name }: Place, why: string): AppError {
  return new AppError('usage', `${name} was not written: ${why}`, {
    hint: 'Read it with read_file, then decide again what to write.',
  });
}

/** A file is replaced only after all of it was read. */
export function partlyRead({ name }: Place): AppError {
  return new AppError('usage', `${name} was not written: only a part of it was read`, {
    hint: 'Change that part with edit_file, or read all of it first.',
  });
}

/** Too large for tools to change. */
export function tooLarge({ name }: Place): AppError {
  return new AppError('usage', `${name} is larger than 20 MB and is not changed by tools`, {
    hint: 'Tell the user what to change there.',
  });
}

/** What it is to hold is too much. */
export function wouldBeTooLarge({ name }: Place): AppError {
  return new AppError('usage', `${name} would be larger than 20 MB and was not written`, {
    hint: 'Write less, or tell the user what to put there.',
  });
}

/** Somebody else has changed what was to be taken back. */
export function changedSince({ name }: Place): AppError {
  return new AppError('usage', `${name} was changed since, and was left as it is`, {
    hint: 'Look at it, and take the change back by hand.',
  });
}

/** Changing what runs as somebody else would be more than changing a file. */
export function privileged({ name }: Place): AppError {
  return new AppError('usage', `${name} runs with the rights of its owner and is not changed`, {
    hint: 'Tell the user what to change there.',
  });
}
