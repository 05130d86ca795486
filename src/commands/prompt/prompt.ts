import type { Output } from '../../app/output.ts';
import { pruneIfDue } from '../../app/prune.ts';
import { toRunSetup } from '../../app/run-setup.ts';
import { createTerminalHost } from '../../app/terminal-host.ts';
import type { App } from '../../core/app.ts';
import type { Content } from '../../core/content.ts';
import { AppError, FAULTS } from '../../core/error.ts';
import { type Notify, settle, type TurnEvent, toNoticeEvent } from '../../core/event.ts';
import type { AnswerFiles } from '../../engine/answer/answer-files.ts';
import type { Verification } from '../../engine/answer/verify.ts';
import type { Host } from '../../engine/host.ts';
import type { OpenedModel } from '../../engine/model/model.ts';
import { Run } from '../../engine/run.ts';
import { hasTools, type OpenedConversation } from '../../engine/session/conversation.ts';
import { openConversation } from '../../engine/session/open-conversation.ts';
import type { RunSetup } from '../../engine/setup.ts';
import { buildPromptContent, noPromptError, twoPromptsError } from '../../input/prompt.ts';
import type { PromptInput } from '../../input/prompt-input.ts';
import { canThink, findModelFacts, makesPictures } from '../../models/table.ts';
import { onAbort } from '../../platform/runtime/abort.ts';
import { callEvery, nextTurn } from '../../platform/runtime/clock.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import { type Renderer, type RenderOptions, showInOrder } from '../../render/renderer.ts';
import { openRenderer } from '../../render/renderers.ts';
import { hasSpinner } from '../../render/spinner.ts';
import type { PromptOptions } from './options.ts';

/** Runs one prompt. Every failure is shown in the chosen output format and sets the exit code. */
export async function run(options: PromptOptions, app: App): Promise<number> {
  if (options.listSessions || options.deleteSession !== undefined) {
    const { runSessionFlag } = await import('./handover.ts');
    return runSessionFlag(options, app);
  }
  if (options.acp) return (await import('./handover.ts')).runInEditor(options, app);
  if (options.inputFormat === 'stream-json') return (await import('./many-turns.ts')).runManyTurns(options, app);
  if (options.promptInteractive !== undefined) {
    const { runInChat } = await import('./handover.ts');
    return runInChat(options, options.promptInteractive, app);
  }
  if (options.isBare && isInteractive() && app.io.out.isTerminal) {
    const { runWelcome } = await import('./welcome.ts');
    return runWelcome(options, app);
  }
  const outputFormat = options.outputFormat ?? (await readFormatSetting(app));
  const chosen = outputFormat === undefined ? options : { ...options, outputFormat };
  const meant =
    options.outputDialect === undefined ? chosen : (await import('./options.ts')).applyOfficialMeaning(chosen, app);
  return meant.resume === '' ? runResumed(meant, app) : runPrompt(meant, app);
}

/** `-r` alone: continues the session that the person chooses, without a prompt in a chat; in a script, the newest. */
async function runResumed(options: PromptOptions, app: App): Promise<number> {
  if (!isInteractive()) return runPrompt({ ...options, resume: 'last' }, app);
  const resume = await (await import('./resume.ts')).chooseResumed(options, app);
  if (resume === undefined) return FAULTS.interrupted.exitCode;
  const chosen = { ...options, resume };
  const isChat = hasNoInput(options) && !options.isPicture && options.outputFormat === undefined;
  return isChat ? (await import('./handover.ts')).runInChat(chosen, undefined, app) : runPrompt(chosen, app);
}

/** The setting `output.format`. Invalid settings are reported later, as a failure of the run. */
async function readFormatSetting(app: App): Promise<PromptOptions['outputFormat']> {
  return app.settings().then(
    ({ outputFormat }) => outputFormat,
    () => undefined,
  );
}

async function runPrompt(options: PromptOptions, app: App): Promise<number> {
  const output = await openOutputIfWanted(options, app);
  const shown = output === undefined ? app : { ...app, io: output.io };
  const show = showInOrder(await createRenderer(options, shown));
  const notify: Notify = (notice) => void show(toNoticeEvent(notice)).catch(() => {});
  const host = createTerminalHost(app, { notify, isText: (options.outputFormat ?? 'text') === 'text' });
  const start = async (): Promise<AsyncIterable<TurnEvent>> => {
    for (const notice of await checkFlagsIfAny(options, app)) notify(notice);
    const events = answer(options, app, host);
    return output?.events(events) ?? events;
  };
  let exitCode = 0;
  let isSaved = false;
  let hasArrived = false;
  for await (const event of settle(start())) {
    hasArrived ||= event.type === 'text' || event.type === 'call';
    await show(addInterruptHint(event, app.signal, hasArrived));
    if (event.type === 'failure') exitCode = event.error.exitCode;
    if (event.type === 'end' && event.sessionId !== undefined) isSaved = true;
  }
  await output?.close();
  if (isSaved) await pruneIfDue(app);
  return exitCode;
}

async function* answer(options: PromptOptions, app: App, host: Host): AsyncGenerator<TurnEvent, void> {
  const { notify } = host;
  checkInput(options, app);
  const conversation = await openConversation(options, app, notify);
  let run: Run | undefined;
  try {
    run = await Run.open(toPromptSetup(options, conversation, app), app, host);
    const { signal } = run.limits;
    onAbort(signal, () => app.expireWrites(AppError.from(signal.reason)));
    await describeKeptModel(options, conversation, { app, run, notify });
    checkModel(options, run.facts.model);
    const verify = options.verify === undefined ? undefined : await readVerification(options, run);
    const prompt = await readPrompt(options, { app, run, host });
    if (isPreview(options)) {
      const { previewTurn } = await import('./preview.ts');
      yield* previewTurn(options, { app, run, notify, history: conversation.history, prompt });
    } else {
      const { isPicture } = options;
      const openChosen = () => openFiles(options, app);
      yield* run.turn(prompt, { conversation, verify, isPicture, openFiles: openChosen, isLast: true });
    }
  } finally {
    await run?.close();
    await conversation.close();
  }
}

function toPromptSetup(options: PromptOptions, { setup: kept }: OpenedConversation, app: App): RunSetup {
  const { outputFormat = 'text', usage: showsUsage, option = [] } = options;
  // A session that is named is most likely asked about its picture; `gmn image` and the next prompt (-c) change it.
  const asksForText =
    options.resume !== undefined && !options.isPicture && makesPictures(options.model ?? kept?.model ?? '');
  const isResumable = hasTools(options) && !options.noSession && !options.demo;
  const resume = isResumable
    ? ' To continue where it stopped: gmn -c "continue", with the same --tools and a higher --max-cost.'
    : '';
  const { model, tools, instruction, limits, answer } = toRunSetup(options);
  return {
    model: {
      ...model,
      option: asksForText ? ['responseModalities=["TEXT"]', ...option] : option,
      followThoughts: outputFormat === 'text' && hasSpinner(app.io.err, toRenderOptions(options, app)),
    },
    tools: { ...tools, isPreview: isPreview(options) },
    instruction,
    limits: { ...limits, costHint: `Raise --max-cost, or choose a cheaper model with -m.${resume}` },
    answer: { ...answer, showsCost: outputFormat !== 'text' || showsUsage },
    session: { kept, kind: 'prompt' },
  };
}

function isPreview({ dryRun, countTokens }: PromptOptions): boolean {
  return dryRun === true || countTokens === true;
}

/** Says which model a conversation that goes on asks. */
async function describeKeptModel(
  options: PromptOptions,
  { setup: kept }: OpenedConversation,
  { app, run, notify }: { readonly app: App; readonly run: Run; readonly notify: Notify },
): Promise<void> {
  if (kept === undefined) return;
  const { describeAsked } = await import('../../engine/session/kept-setup.ts');
  const { model: setting } = await app.settings();
  for (const notice of describeAsked(run.facts.model, kept, options, setting)) notify(notice);
}

async function readVerification(options: PromptOptions, { facts }: Run): Promise<Verification> {
  return (await import('../../engine/answer/verify.ts')).toVerification(options, facts);
}

async function openFiles(options: PromptOptions, app: App): Promise<AnswerFiles> {
  const { createAnswerFiles } = await import('../../engine/answer/answer-files.ts');
  const { writeBinary } = await import('../../platform/terminal/binary-output.ts');
  const canPipe = (options.outputFormat ?? 'text') === 'text' && !app.io.out.isTerminal;
  const pipe = canPipe ? (bytes: Uint8Array) => writeBinary(bytes, app.signal) : undefined;
  return createAnswerFiles(options, { app, prompt: joinPrompt(options) ?? '', pipe, isPicture: options.isPicture });
}

async function checkFlagsIfAny(options: PromptOptions, app: App): Promise<readonly string[]> {
  return app.typedFlags?.length ? (await import('./options.ts')).checkPromptFlags(options, app) : [];
}

function addInterruptHint(event: TurnEvent, { reason }: AbortSignal, hasArrived: boolean): TurnEvent {
  if (event.type !== 'failure' || event.error !== reason || event.error.hint !== undefined) return event;
  const hint = hasArrived
    ? 'What had arrived is kept. Run it again for the whole answer.'
    : 'Nothing had arrived yet. Run it again for the answer.';
  return { ...event, error: event.error.with({ hint }) };
}

const OUTPUT_FLAGS = ['extract', 'extractLast', 'outputFile', 'copy', 'pager', 'noStream'] as const;

async function openOutputIfWanted(options: PromptOptions, app: App): Promise<Output | undefined> {
  const isWanted = app.env.GMN_PAGER || OUTPUT_FLAGS.some((name) => options[name] !== undefined);
  return isWanted ? (await import('../../app/output.ts')).openOutput(options, app) : undefined;
}

async function createRenderer(options: PromptOptions, app: App): Promise<Renderer> {
  const { outputFormat: format = 'text', dryRun, countTokens } = options;
  const render = await openRenderer(format, app.io, toRenderOptions(options, app));
  if (format === 'text' || !(dryRun || countTokens)) return render;
  return (await import('./preview.ts')).createPreviewRenderer(render, app.io.out, options);
}

function toRenderOptions(options: PromptOptions, app: App): RenderOptions {
  // Code and JSON are not Markdown.
  const isCode = options.extract || options.extractLast || options.outputSchema !== undefined;
  const isLiteral = isCode && options.render !== 'always';
  return {
    quiet: options.quiet ?? false,
    showThoughts: options.showThoughts ?? false,
    showUsage: options.usage ?? false,
    render: options.dryRun || options.noRender || isLiteral ? 'never' : (options.render ?? 'auto'),
    rawOutput: options.rawOutput ?? false,
    isDumb: app.env.TERM === 'dumb' || options.screenReader === true,
    dialect: options.outputDialect ?? 'gmn',
    prompt: joinPrompt(options) ?? '',
    findPictures: async () => (await import('../../render/picture.ts')).choosePictures(options.pictures, app.env),
    pause: nextTurn,
    clock: app.clock,
    ticker: { every: callEvery },
  };
}

interface ReadingContext {
  readonly app: App;
  readonly run: Run;
  readonly host: Host;
}

async function readPrompt(options: PromptOptions, { app, run, host }: ReadingContext): Promise<Content> {
  const { cwd, env, homes, clock, stdin } = app;
  const { limits, facts } = run;
  const { signal, pause } = limits;
  const { notify } = host;
  const prompt = joinPrompt(options);
  const readsAll = options.stdin || (hasDash(options) && !options.noStdin);
  const isTyped = (readsAll || prompt === '-') && (await stdin.isTerminal());
  const resume = isTyped ? pause() : undefined;
  const stdinMode = readsAll ? 'always' : options.noStdin ? 'never' : 'auto';
  const isComposed = prompt?.startsWith('/') || COMPOSE_FLAGS.some((name) => options[name] !== undefined);
  const hasOtherInput = hasTools(options) || options.continue === true || options.resume !== undefined;
  const composing = {
    app,
    host,
    words: prompt,
    stdin,
    stdinMode,
    hasOtherInput,
    pause,
    activateSkills: (names: readonly string[]) => run.activateSkills(names),
    signal,
  } as const;
  const input: PromptInput = {
    prompt,
    files: options.file ?? [],
    stdinMode,
    allowsMentions: !options.noAt,
    allowsStdinMentions: options.isOfficial,
    fileSupport: facts.model.fileSupport,
    readResource: facts.servers?.readResource,
    cwd,
    env,
    homes,
    stdin,
    clock,
    signal,
    notify,
  };
  const composed = isComposed && (await (await import('./compose.ts')).composeInput(options, composing));
  const content = await buildPromptContent(composed ? { ...input, ...composed } : input);
  resume?.();
  // Without stdin it was looked at before.
  const word = stdin.kind() === 'none' ? undefined : findLoneWord(options);
  const [first, ...others] = content.parts;
  const isAlone = first !== undefined && 'text' in first && first.text === word && others.length === 0;
  if (word !== undefined && isAlone) app.guardPrompt?.(word, 'alone');
  return content;
}

const COMPOSE_FLAGS = ['attach', 'mimeType', 'paste', 'template', 'param', 'editor', 'skill'] as const;
const OTHER_INPUT = [...COMPOSE_FLAGS, 'prompt', 'file', 'continue', 'resume', 'isPicture'] as const;

/** Throws AppError `usage` if there is no prompt, more than one, or a lone word that was meant as a command. */
function checkInput(options: PromptOptions, { stdin, guardPrompt }: App): void {
  if (options.prompt !== undefined && listWords(options).length > 0) throw twoPromptsError(options.prompt);
  if (stdin.kind() !== 'none') return;
  if (hasNoInput(options)) throw noInputError(options);
  const word = findLoneWord(options);
  if (word !== undefined) guardPrompt?.(word, 'alone');
}

/** Undefined if a flag adds to it: files, tools, a session that is continued. */
function findLoneWord(options: PromptOptions): string | undefined {
  const [word, ...others] = options.args;
  const hasMore = hasTools(options) || OTHER_INPUT.some((name) => options[name] !== undefined);
  return others.length === 0 && !hasMore ? word : undefined;
}

function hasNoInput({ args, prompt, file, attach, template, stdin, editor, paste }: PromptOptions): boolean {
  const given = [prompt, file, attach, template].some((value) => value !== undefined);
  return args.length === 0 && !given && !stdin && !editor && !paste;
}

/** With a session but no prompt, the user most likely wants a chat. */
function noInputError({ resume, continue: isNewest, demo, isPicture }: PromptOptions): AppError {
  if (isPicture) return noPromptError('Say what to draw: gmn image "a red fox in the snow"');
  if (resume === undefined && !isNewest) return noPromptError();
  const flags = `${demo ? '--demo ' : ''}${isNewest ? '-c' : `-r ${/^[\w-]+$/.test(resume ?? '') ? resume : '…'}`}`;
  return noPromptError(`Try: gmn ${flags} "your question", or continue in a chat: gmn chat ${flags}`);
}

function joinPrompt(options: PromptOptions): string | undefined {
  const words = listWords(options);
  return options.prompt ?? (words.length > 0 ? words.join(' ') : undefined);
}

/** `-` before or after a prompt: stdin goes with it, and is read to its end. Between other words it is a minus. */
function hasDash({ prompt, args }: PromptOptions): boolean {
  return (prompt !== undefined || args.length > 1) && (args[0] === '-' || args.at(-1) === '-');
}

function listWords(options: PromptOptions): readonly string[] {
  const { args } = options;
  if (!hasDash(options)) return args;
  return args.slice(args[0] === '-' ? 1 : 0, args.length > 1 && args.at(-1) === '-' ? -1 : undefined);
}

function checkModel({ showThoughts, isPicture }: PromptOptions, model: OpenedModel): void {
  const { modelId, backend } = model;
  // Other models reject a request for thoughts.
  if (showThoughts && !canThink(modelId)) {
    throw new AppError('usage', `${modelId} does not think, as far as gmn knows`, {
      hint: 'Leave --show-thoughts out.',
    });
  }
  if (!isPicture) return;
  if (backend === 'code-assist') {
    throw new AppError('auth', 'Code Assist, which a Google login uses, makes no pictures', {
      hint: 'Use an API key instead: set GEMINI_API_KEY, or run gmn auth set-key.',
    });
  }
  const facts = findModelFacts(modelId);
  if (facts === undefined || facts.makes === 'images') return;
  throw new AppError('usage', `${modelId} makes no pictures`, {
    hint: 'Leave -m out, or name a model that does: gmn models',
  });
}
