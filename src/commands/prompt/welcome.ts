import { chooseCredential } from '../../auth/credential.ts';
import { formatListRows, type ListRow } from '../../chat/rows.ts';
import type { App } from '../../core/app.ts';
import { AppError, FAULTS } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { wrapText } from '../../core/text/width.ts';
import { INTERRUPT, openTty } from '../../platform/terminal/tty.ts';
import { runInChat } from './handover.ts';
import type { PromptOptions } from './options.ts';

/** `gmn` alone on a terminal: where to begin, and if a model can be asked, a chat at Enter. */
export async function runWelcome(options: PromptOptions, app: App): Promise<number> {
  const { status, isReady } = options.demo ? DEMO_STATUS : await findCredentialStatus(app);
  await app.io.out.write(formatWelcome(app, status));
  if (!isReady) return 0;
  const typed = await askForQuestion(app);
  if (typed === INTERRUPT) return FAULTS.interrupted.exitCode;
  if (LEAVING.includes(typed)) return 0;
  if (BEGINNING.includes(typed)) return runInChat(options, undefined, app);
  if (typed !== 'help') app.guardPrompt?.(typed, 'asked');
  return runInChat(options, typed, app);
}

const DEMO_STATUS = { status: '✓ Ready: the offline model, from GMN_DEMO', isReady: true };

const END = '\u0004';
const BEGINNING: readonly string[] = ['', 'chat', 'gmn chat'];
const LEAVING: readonly string[] = [END, 'q', 'exit', 'quit', ':q'];

async function askForQuestion({ io, signal }: App): Promise<string> {
  const tty = openTty();
  if (tty === undefined) return END;
  try {
    await io.out.write('\n');
    const typed = await tty.line('Enter begins a chat, or ask here › ', signal, { atEnd: END });
    return typed.trim();
  } finally {
    tty.close();
  }
}

const EXAMPLES: readonly ListRow[] = [
  ['gmn "why is the sky blue?"', 'one prompt, one answer'],
  ['git diff | gmn "review this change"', 'stdin goes before the prompt'],
  ['gmn -f notes.md "summarise"', 'files, images, PDF, directories'],
  ['gmn chat', 'a conversation; its tools ask first'],
  ['gmn --demo "hello"', 'the offline model: no account needed'],
];

const NEXT_STEPS: readonly ListRow[] = [
  ['gmn auth status', 'which credential is used'],
  ['gmn doctor', 'what is wrong, and how to fix it'],
  ['gmn demo', 'a tour of two minutes'],
  ['gmn -h', 'the flags used most, and the commands'],
];

function formatWelcome({ version, io }: App, status: string): string {
  const { columns } = io.out;
  return [
    `gmn ${version}: Gemini in your shell`,
    wrapText(status, columns),
    ...['', ...formatListRows(EXAMPLES, columns)],
    ...['', ...formatListRows(NEXT_STEPS, columns)],
    '',
  ].join('\n');
}

/** In one line. Never throws: invalid settings are shown as the status. */
async function findCredentialStatus(app: App): Promise<{ readonly status: string; readonly isReady: boolean }> {
  try {
    const { credential } = await chooseCredential({ ...app, settings: await app.settings(), isRehearsal: true });
    return { status: `✓ Ready: ${credential.type}, from ${sanitize(credential.source)}`, isReady: true };
  } catch (thrown) {
    const error = AppError.from(thrown);
    const status =
      error.fault !== 'auth' || error.details.guide === undefined
        ? `✗ ${sanitize(error.shortMessage)}. What to do: gmn doctor`
        : '– No API key yet: https://aistudio.google.com/apikey, then: gmn auth set-key';
    return { status, isReady: false };
  }
}
