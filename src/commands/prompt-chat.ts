import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { type ChatOptions, run } from './chat.ts';
import { flagOf, isDefault } from './foreign-flag.ts';
import type { PromptOptions } from './prompt-options.ts';

/** The one-shot's options that say nothing to a chat, and those that would say something else. */
type OneShotOption =
  | Exclude<keyof PromptOptions, keyof ChatOptions | 'isBare' | 'promptInteractive' | 'listSessions' | 'deleteSession'>
  | 'outputFormat'
  | 'dryRun'
  | 'prompt';

/** What a chat does not know it must not ignore; a new flag of one-shots does not compile before it is here. */
const ONE_SHOT_ALONE: Readonly<Record<OneShotOption, true>> = {
  outputFormat: true,
  outputDialect: true,
  stdin: true,
  noStdin: true,
  noAt: true,
  render: true,
  noRender: true,
  rawOutput: true,
  screenReader: true,
  usage: true,
  countTokens: true,
  dryRun: true,
  prompt: true,
  outputSchema: true,
  search: true,
  template: true,
  param: true,
  editor: true,
  extract: true,
  extractLast: true,
  outputFile: true,
  copy: true,
  pager: true,
  noStream: true,
  attach: true,
  mimeType: true,
  paste: true,
};

/** `-i`: a chat that begins with this prompt. Throws AppError `usage` if a flag is for one-shots alone. */
export async function runInChat(options: PromptOptions, prompt: string, app: App): Promise<number> {
  const given = Object.entries(options).filter(([name, value]) => value !== undefined && !isDefault(name, app.env));
  const foreign = given.find(([name]) => Object.hasOwn(ONE_SHOT_ALONE, name));
  if (foreign !== undefined || options.args.length > 0) {
    const what = foreign === undefined ? 'a positional prompt' : flagOf(foreign[0]);
    throw new AppError('usage', `-i cannot be combined with ${what}`, {
      hint: 'To see what a chat takes: gmn chat --help',
    });
  }
  const { outputFormat: _, ...rest } = options;
  return run({ ...rest, prompt }, app);
}
