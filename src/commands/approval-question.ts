import type { Out } from '../core/io.ts';
import type { Preview } from '../core/tool.ts';
import { CONTINUED, INTERRUPT, type Tty } from '../platform/tty.ts';
import type { Scope } from '../tools/policy.ts';
import { type QuestionView, questionView } from './approval-view.ts';

/** What a person answered. */
export type Answer =
  | { readonly kind: 'yes' | 'no' | 'always' | 'edit' | 'stop' }
  /** Words for the model, instead of a bare no. */
  | { readonly kind: 'reply'; readonly text: string };

export interface Question {
  readonly name: string;
  readonly preview: Preview;
  /** What "always" would cover. */
  readonly scope: Scope;
}

type Choice = Answer['kind'] | 'all' | 'again';

const CHOICES: ReadonlyMap<string, Choice> = new Map([
  ['y', 'yes'],
  ['n', 'no'],
  ['\r', 'no'],
  ['\n', 'no'],
  ['\u001b', 'no'],
  ['\u0004', 'no'],
  ['a', 'always'],
  ['e', 'edit'],
  ['r', 'reply'],
  ['d', 'all'],
  ['q', 'stop'],
  [INTERRUPT, 'stop'],
  [CONTINUED, 'again'],
]);

const ECHOES: Readonly<Record<Choice, string>> = {
  ...{ yes: 'y', no: 'n', always: 'a', edit: 'e', reply: 'r', all: 'd', stop: 'q', again: '' },
};

const ALWAYS: Readonly<Record<Scope, string>> = {
  tool: '[a]lways',
  command: '[a]lways this command',
  call: '[a]lways this file',
};

/**
 * Asks a person, and resolves with the answer. Enter and Esc are no; nothing typed before the question stood there counts.
 * What does not fit on the screen is cut, and can only be approved after all of it was shown.
 */
export async function askPerson(
  question: Question,
  { tty, err }: { readonly tty: Tty; readonly err: Out },
  signal: AbortSignal,
): Promise<Answer> {
  const view = questionView(question.name, question.preview, { columns: tty.columns, isStyled: err.isStyled });
  const room = Math.max(tty.rows - view.title.length - 4, 4);
  let isCut = view.body.length > room;
  await err.write(shown(view, isCut ? room : undefined));
  for (;;) {
    const key = await tty.key(CHOICES, () => err.write(`╰ ${offered(question, isCut)} › `), signal);
    const choice = CHOICES.get(key) ?? 'no';
    await err.write(`${ECHOES[choice]}\n`);
    if (choice === 'all' || choice === 'again') {
      isCut &&= choice === 'again';
      await err.write(shown(view, isCut ? room : undefined));
    } else if (isCut && (choice === 'yes' || choice === 'always')) {
      await err.write('│ This is not all of it. See the rest first: d\n');
    } else if (choice === 'reply') {
      const text = await tty.line('  Tell the model: ', signal);
      if (text === INTERRUPT) return { kind: 'stop' };
      if (text.trim() !== '') return { kind: 'reply', text: text.trim() };
    } else return { kind: choice };
  }
}

function offered({ preview, scope }: Question, isCut: boolean): string {
  const all = preview.kind === 'diff' ? '[d]iff' : '[d] all of it';
  if (isCut) return `${all} [n]o [e]dit [r]eply [q]uit turn`;
  return `[y]es [n]o ${ALWAYS[scope]} [e]dit [r]eply ${preview.kind === 'diff' ? `${all} ` : ''}[q]uit turn`;
}

/** Cut in the middle: what is hidden behind a long beginning stands at the end. */
function shown({ title, body }: QuestionView, room: number | undefined): string {
  if (room === undefined) return `${[...title, ...body].join('\n')}\n`;
  const head = body.slice(0, Math.ceil((room - 1) / 2));
  const tail = body.slice(body.length - (room - 1 - head.length));
  const omitted = body.length - head.length - tail.length;
  return `${[...title, ...head, `┆ ${omitted} more lines`, ...tail].join('\n')}\n`;
}
