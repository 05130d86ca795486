import type { StoredContent } from '../../src/core/content.ts';
import { AppError } from '../../src/core/error.ts';
import { toNoticeEvent } from '../../src/core/event.ts';
import { buildPromptContent } from '../../src/input/prompt.ts';
import { systemClock } from '../../src/platform/runtime/clock.ts';
import { processStdin } from '../../src/platform/terminal/stdin.ts';

/** Turns PROMPT, FILE, MODE and stdin into one JSON line: the notices and the Content, or the error. */
const { PROMPT, FILE, MODE } = process.env;
const stdin = processStdin;
const notices: string[] = [];
const controller = new AbortController();
process.once('SIGINT', () => controller.abort(new AppError('interrupted', 'Interrupted.')));
const building = (): Promise<StoredContent> =>
  buildPromptContent({
    notify(notice) {
      const event = toNoticeEvent(notice);
      if (event.type === 'notice') notices.push(event.message);
      // Tells a test that the wait has begun.
      else process.stderr.write('waiting\n');
    },
    prompt: PROMPT,
    files: FILE === undefined ? [] : [FILE],
    stdinMode: MODE === 'always' || MODE === 'never' ? MODE : 'auto',
    allowsMentions: true,
    cwd: process.cwd(),
    env: process.env,
    stdin,
    clock: systemClock,
    signal: controller.signal,
  });
const kind = stdin.kind();
try {
  const { parts } = await building();
  console.log(JSON.stringify({ kind, notices, parts }));
} catch (thrown) {
  const { message, hint, exitCode, fault } = AppError.from(thrown);
  console.log(JSON.stringify({ kind, notices, error: { message, hint, fault } }));
  process.exitCode = exitCode;
}
