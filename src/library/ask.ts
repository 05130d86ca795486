import { type Notify, toNoticeEvent } from '../core/event.ts';
import { Run } from '../engine/run.ts';
import { createUnsavedConversation, type OpenedConversation } from '../engine/session/conversation.ts';
import type { Guest } from '../platform/app.ts';
import { createRunApp } from './app.ts';
import type * as Public from './gmn.d.ts';
import { askCallback, createHost } from './host.ts';
import { addSkills, buildAskedContent } from './prompt.ts';
import { checkApprove, keepsFiles, openChosenConversation, toLibrarySetup } from './setup.ts';
import { createTurn, type TurnContext } from './turn.ts';

type AskOptions = Public.AskOptions & { readonly schema?: unknown };

export function createAskFunction(guest: Guest): typeof Public.ask {
  const ask = (prompt: string, options: AskOptions = {}) => {
    const { signal, thoughts, schema } = options;
    return createTurn({ signal, thoughts, schema, run: (context) => askOnce(prompt, options, guest, context) });
  };
  // The overloads say which options give which type of answer.
  return ask as typeof Public.ask;
}

async function askOnce(
  prompt: string,
  options: AskOptions,
  guest: Guest,
  { signal, schema, show, fail }: TurnContext,
): Promise<void> {
  const { approve, session } = options;
  checkApprove(approve);
  const app = createRunApp(guest, options, { signal, keepsFiles: keepsFiles(options) });
  const setup = toLibrarySetup(options, app);
  const notify: Notify = (notice) => void show(toNoticeEvent(notice)).catch(() => {});
  const host = createHost(notify, approve && askCallback(approve, fail));
  let conversation: OpenedConversation | undefined;
  let run: Run | undefined;
  try {
    conversation = session ? await openChosenConversation(session, app, notify) : createUnsavedConversation();
    run = await Run.open(
      {
        ...setup,
        answer: { ...setup.answer, outputSchema: schema },
        session: { ...setup.session, kept: conversation.setup },
      },
      app,
      host,
    );
    const { fileSupport } = run.facts.model;
    const asked = await buildAskedContent(prompt, options.files, {
      app,
      fileSupport,
      signal: run.limits.signal,
      notify,
    });
    const content = await addSkills(asked, options.skills, { run, settings: options.settings });
    for await (const event of run.turn(content, { conversation, isLast: true })) await show(event);
  } finally {
    await run?.close();
    await conversation?.close();
    await run?.facts.setup.tools.workspace?.close();
  }
}
