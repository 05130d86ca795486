import type { App } from '../core/app.ts';
import type { Part } from '../core/content.ts';
import type { Notify } from '../core/event.ts';
import type { OpenedModel } from '../engine/model/model.ts';
import { assembleContent } from '../input/assembly.ts';

export interface ServiceInputOptions {
  readonly file?: readonly string[];
  readonly stdin?: boolean;
  readonly noStdin?: boolean;
}

interface ServiceInputContext {
  readonly app: App;
  readonly opened: OpenedModel;
  readonly notify: Notify;
}

/** Stdin and `-f`, as in a prompt, for `gmn decide` and `gmn research`; before `prompt`, if that goes with them. */
export async function readServiceInput(
  { file: files = [], stdin, noStdin }: ServiceInputOptions,
  prompt: string | undefined,
  { app, opened, notify }: ServiceInputContext,
): Promise<readonly Part[]> {
  const { stdin: input, cwd, env, homes, clock, signal } = app;
  const { parts } = await assembleContent({
    ...{ prompt, isAskedElsewhere: prompt === undefined, allowsMentions: false, files },
    stdinMode: stdin ? 'always' : noStdin ? 'never' : 'auto',
    ...{ stdin: input, fileSupport: opened.fileSupport, notify, cwd, env, homes, clock, signal },
  });
  return parts;
}
