import { call } from '../../support/gemini.ts';
import type { Variant } from '../fault.ts';
import { COMMAND, PLAIN_PIPE } from '../fault.ts';
import type { Scene } from '../scene.ts';
import { reply } from '../wire-answers.ts';

/** More than the small disks of these rows hold. */
export const LONG = 'x'.repeat(200_000);

/** What such a chat shows. */
export const ANSWERS = `first\n${LONG}\nthird`;

/** A chat of three turns, of which the second is long. */
export const CHAT = {
  ways: COMMAND,
  args: ['chat'],
  stdin: 'one\ntwo\nthree\n',
  model: [reply('first'), reply(LONG), reply('third')],
} as const satisfies Partial<Variant>;

/** The model writes a file, and is done. */
export function writing(path: string, content: string) {
  return [reply(call('write_file', { file_path: path, content })), reply('done')];
}

/** A run in which nothing asks. */
export const EDITING = ['--tools', 'edit', '--yolo', 'go'];

/** What the model was told last. */
export function told({ server }: Scene): string {
  return server.asked('model').at(-1)?.body ?? '';
}

/** One prompt, one answer. */
export const HELLO = { model: [reply('Hello.')], ways: PLAIN_PIPE } as const satisfies Partial<Variant>;

/** The answer is there all the same. */
export const UNSAVED = { code: 0, text: 'Hello.', says: /this run was not saved/ } as const;
