import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { splitHandover } from '../../core/flag.ts';
import { runProcess } from '../../process/process.ts';
import type { PromptOptions } from './options.ts';

const FLAG = '--input-format stream-json';

/** Throws AppError `usage` for what belongs to a single prompt. */
export async function runManyTurns(options: PromptOptions, app: App): Promise<number> {
  const { args, outputFormat, resume } = options;
  const { typedFlags = [] } = app;
  const own = typedFlags.find(({ long }) => long === 'input-format');
  const { refused } = own === undefined ? { refused: undefined } : splitHandover(own, typedFlags);
  if (refused !== undefined || args.length > 0) {
    const what = refused === undefined ? 'a prompt' : `--${refused.long}`;
    throw new AppError('usage', `${FLAG} cannot be combined with ${what}`, {
      hint: 'Prompts are lines of stdin: {"type":"prompt","id":"1","text":"hello"} (gmn help stream-json)',
    });
  }
  if (outputFormat !== 'stream-json') {
    throw new AppError('usage', `${FLAG} needs -o stream-json`, { hint: `Use both: gmn ${FLAG} -o stream-json` });
  }
  if (resume === '') throw new AppError('usage', '-r needs a session here', { hint: 'Example: -r last' });
  return runProcess(options, app);
}
