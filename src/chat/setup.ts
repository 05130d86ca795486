import type { Session, SessionSetup } from '../core/session.ts';
import { visible } from '../core/text/terminal.ts';
import type { Setup } from './assistant.ts';

/** What of a setup belongs to the conversation, and is kept with it. */
export function chosenIn({ model, system }: Pick<Setup, 'model' | 'system'>): SessionSetup {
  return { ...(model === undefined ? {} : { model }), ...(system === undefined ? {} : { system }) };
}

/** What is said where a session brings back what was chosen in it; undefined if that is nothing. */
export function restoredWords({ model, system }: SessionSetup): string | undefined {
  const words = [
    ...(model === undefined ? [] : [`the model ${visible(model)}`]),
    ...(system === undefined ? [] : ['its system instruction (/system shows it)']),
  ];
  return words.length === 0 ? undefined : `As before in this session: ${words.join(' and ')}.`;
}

/** What is said where the last prompt of a session that is gone on with had no answer; undefined if it had one. */
export function unansweredWords({ unanswered }: Pick<Session, 'unanswered'>): string | undefined {
  return unanswered === undefined ? undefined : 'Its last prompt had no answer: /retry asks it again.';
}
