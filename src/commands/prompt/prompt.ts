import { REDACTED_NOTICE, runTurn } from '../../agent/turn.ts';
import { DEFAULT_TIMEOUT_MS, openAgent, timeoutError } from '../../app/agent.ts';
import type { AnswerFormat } from '../../app/answer-shape.ts';
import { openHistory, pruneIfDue, runAndSave } from '../../app/history.ts';
import { type OpenedModel, openModel } from '../../app/model.ts';
import type { Output } from '../../app/output.ts';
import type { countEvents } from '../../app/queries.ts';
import type { openNamedServers } from '../../app/servers/tools.ts';
import type { PromptHistory } from '../../app/sessions.ts';
import type { RunPaused } from '../../approval/approve.ts';
import type { App } from '../../core/app.ts';
import type { Content } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { settle, type TurnEvent } from '../../core/event.ts';
import { buildPromptContent, noPromptError } from '../../input/prompt.ts';
import type { PromptInput } from '../../input/prompt-input.ts';
import { canThink } from '../../models/table.ts';
import { createAbortable, onAbort } from '../../platform/runtime/abort.ts';
import { callEvery, createDeadline, type Deadline } from '../../platform/runtime/clock.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import { systemStdin } from '../../platform/terminal/stdin.ts';
import type { Renderer, RenderOptions } from '../../render/renderer.ts';
import { openRenderer } from '../../render/renderers.ts';
import type { ComposeContext, ComposedPrompt } from './compose.ts';
import type { PromptOptions } from './options.ts';
import type { preview as previewEvents } from './preview.ts';

/** Runs one prompt. Every failure is shown in the chosen output format and sets the exit code. */
export async function run(options: PromptOptions, app: App): Promise<number> {
  if (options.listSessions || options.deleteSession !== undefined) {
    const [{ runSessionFlag }, { dropIgnoredFlags }] = await Promise.all([
      import('./handover.ts'),
      import('./idle-flags.ts'),
    ]);
    const { rest, notices } = dropIgnoredFlags(options, app.env);
    return runSessionFlag(rest, { ...app, notices });
  }
  if (options.promptInteractive !== undefined) {
    const { runInChat } = await import('./handover.ts');
    return runInChat(options, options.promptInteractive, app);
  }
  if (options.isBare && isInteractive() && app.io.out.isTerminal) {
    const { formatBanner } = await import('./welcome.ts');
    await app.io.out.write(await formatBanner(app));
    return 0;
  }
  const outputFormat = options.outputFormat ?? (await readFormatSetting(app));
  const chosen = outputFormat === undefined ? options : { ...options, outputFormat };
  if (options.outputDialect === undefined) return runPrompt(chosen, app);
  return runPrompt((await import('./idle-flags.ts')).applyOfficialMeaning(chosen, app.env), app);
}

/** The setting `output.format`. Invalid settings are reported later, as a failure of the run. */
async function readFormatSetting(app: App): Promise<PromptOptions['outputFormat']> {
  return app.settings().then(
    ({ outputFormat }) => outputFormat,
    () => undefined,
  );
}

async function runPrompt(options: PromptOptions, app: App): Promise<number> {
  const checked = await checkFlagsIfAny(options, app);
  const output = checked instanceof AppError ? undefined : await openOutputIfWanted(options, app);
  const ended = createAbortable();
  onAbort(app.signal, () => ended.abort(app.signal.reason));
  const render = await createRenderer(options, output === undefined ? app : { ...app, io: output.io }, ended.signal);
  let exitCode = 0;
  let isSaved = false;
  for await (const event of settle(runChecked(checked, output, runModel(options, app, ended.abort)))) {
    await render(addInterruptHint(event, app.signal));
    if (event.type === 'failure') exitCode = event.error.exitCode;
    if (event.type === 'end' && event.sessionId !== undefined) isSaved = true;
  }
  await output?.close();
  if (isSaved) await pruneIfDue(app);
  return exitCode;
}

/** Notices about the flags, or the error for invalid ones. Without flags the module is not loaded. */
async function checkFlagsIfAny(options: PromptOptions, { env }: App): Promise<readonly string[] | AppError> {
  if (Object.keys(options).length === 1) return [];
  try {
    return (await import('./idle-flags.ts')).checkFlags(options, env);
  } catch (thrown) {
    return AppError.from(thrown);
  }
}

async function* runChecked(
  checked: readonly string[] | AppError,
  output: Output | undefined,
  run: AsyncIterable<TurnEvent>,
): AsyncGenerator<TurnEvent, void> {
  if (checked instanceof AppError) throw checked;
  for (const message of checked) yield { type: 'notice', message };
  yield* output?.events(run) ?? run;
}

/** Adds a hint about the partial answer to the error of a signal. */
function addInterruptHint(event: TurnEvent, { reason }: AbortSignal): TurnEvent {
  if (event.type !== 'failure' || event.error !== reason || event.error.hint !== undefined) return event;
  const hint = 'What had arrived is kept. Run it again for the whole answer.';
  return { ...event, error: event.error.with({ hint }) };
}

const OUTPUT_FLAGS = ['extract', 'extractLast', 'outputFile', 'copy', 'pager', 'noStream'] as const;

/** Loaded only if a flag needs it. */
async function openOutputIfWanted(options: PromptOptions, app: App): Promise<Output | undefined> {
  const isWanted = app.env.GMN_PAGER || OUTPUT_FLAGS.some((name) => options[name] !== undefined);
  return isWanted ? (await import('../../app/output.ts')).openOutput(options, app) : undefined;
}

async function createRenderer(options: PromptOptions, app: App, signal: AbortSignal): Promise<Renderer> {
  const format = options.outputFormat ?? 'text';
  const render = await openRenderer(format, app.io, toRenderOptions(options, app, signal));
  if (options.dryRun && format !== 'text') {
    return (await import('./preview.ts')).previewRenderer(render, app.io.out);
  }
  if (!options.countTokens) return render;
  const { countRenderer } = await import('../../app/queries.ts');
  return countRenderer(render, app.io.out, format);
}

function toRenderOptions(options: PromptOptions, app: App, signal: AbortSignal): RenderOptions {
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
    prompt: promptText(options) ?? '',
    openTextWork: async () => (await import('../../platform/process/text-thread.ts')).textThread(signal),
    clock: app.clock,
    ticker: { every: callEvery },
  };
}

/** Calls `end` with the reason when a signal or the deadline ends the run. */
async function* runModel(
  options: PromptOptions,
  app: App,
  end: (reason: unknown) => void,
): AsyncGenerator<TurnEvent, void> {
  checkUsage(options);
  if (hasNoInput(options) && systemStdin().kind() === 'none') throw noInputError(options);
  const shape = await chooseAnswerFormat(options, app);
  const timeoutMs = options.timeout ?? DEFAULT_TIMEOUT_MS;
  const limit = createDeadline(app.signal, timeoutMs, () => timeoutError(timeoutMs));
  onAbort(limit.signal, () => {
    app.hurry(AppError.from(limit.signal.reason));
    end(limit.signal.reason);
  });
  let opened: OpenedModel | undefined;
  let kept: PromptHistory | undefined;
  let side: RemoteSide | undefined;
  try {
    kept = await openHistory(options, app);
    for (const message of kept.notices) yield { type: 'notice', message };
    opened = await openModel(options, app, limit.endsAt);
    for (const message of opened.notices) yield { type: 'notice', message };
    if (options.showThoughts) checkThoughts(opened);
    side = yield* openRemoteSide(options, app, limit);
    const prompt = yield* readPrompt(options, { app, limit, ...side });
    const { takeDenials, ...plain } = yield* openAgent(options, { app, opened, lend: pauseDeadline(limit), ...side });
    const agent = shape.agent(plain);
    const { signal } = limit;
    const hasTools = plain.tools.length > 0 || (plain.withheld ?? []).length > 0;
    const run = hasTools ? reportDenials(shape.run, takeDenials) : shape.run;
    if (!options.dryRun && !options.countTokens) yield* runAndSave(agent, { kept, prompt, signal, run });
    else {
      const { declareTools } = await import('../../agent/turn.ts');
      const contents = await prepareContents(kept, prompt, agent.origin);
      const { model, ...rest } = { ...agent.request, ...declareTools(agent.tools), contents };
      const told = (await agent.withholding?.conceal(rest)) ?? rest;
      if (told !== rest) yield { type: 'notice', message: REDACTED_NOTICE };
      const request = { model, ...told };
      if (options.dryRun) yield* preview(opened, request);
      else yield* countPrompt(opened, request, { app, signal: limit.signal });
    }
  } finally {
    limit.clear();
    await side?.remote.close();
    await kept?.close();
    await opened?.close();
  }
}

/** Adds a notice for each call denied because no one could be asked, and for each write that failed. */
function reportDenials(run: AnswerFormat['run'], takeDenials: () => readonly string[]): AnswerFormat['run'] {
  return async function* (agent, turn) {
    for await (const event of run(agent, turn)) {
      for (const message of takeDenials()) yield { type: 'notice', message, isDenial: true };
      yield event;
    }
  };
}

/** The answer format; loaded only if a flag needs it. */
async function chooseAnswerFormat(options: PromptOptions, app: App): Promise<AnswerFormat> {
  if (options.outputSchema === undefined && !options.search) return { agent: (agent) => agent, run: runTurn };
  return (await import('../../app/answer-shape.ts')).openAnswerFormat(options, app);
}

type RemoteSide = Awaited<ReturnType<typeof openNamedServers>>;

/** The MCP servers named by flags. Loads nothing without such a flag; starts none for a preview. */
async function* openRemoteSide(
  options: PromptOptions,
  app: App,
  limit: Deadline,
): AsyncGenerator<TurnEvent, RemoteSide | undefined> {
  const isNamed = options.allowedMcpServerNames !== undefined || options.mcpConfig !== undefined;
  if (!isNamed) return undefined;
  yield { type: 'wait', what: 'the MCP servers' };
  const isPreview = options.dryRun === true || options.countTokens === true;
  const { openNamedServers: open } = await import('../../app/servers/tools.ts');
  const side = await open(options, { app, lend: pauseDeadline(limit), signal: limit.signal, isPreview });
  for (const message of side.remote.notices) yield { type: 'notice', message };
  return side;
}

/** Pauses the deadline while the user is asked. */
function pauseDeadline(limit: Deadline): RunPaused {
  return async (work) => {
    limit.hold();
    return work().finally(limit.resume);
  };
}

async function* readPrompt(
  options: PromptOptions,
  { app, limit, readResource }: { readonly app: App; readonly limit: Deadline } & Partial<RemoteSide>,
): AsyncGenerator<TurnEvent, Content> {
  const stdin = systemStdin();
  const prompt = promptText(options);
  // Pause the deadline while the user types.
  const isTyped = (options.stdin || prompt === '-') && (await stdin.isTerminal());
  if (isTyped) limit.hold();
  const stdinMode = options.stdin ? 'always' : options.noStdin ? 'never' : 'auto';
  const { signal } = limit;
  const content = yield* buildPromptContent({
    prompt,
    files: options.file ?? [],
    stdinMode,
    mentions: !options.noAt,
    ...(options.isOfficial ? { stdinMentions: true } : {}),
    ...(await loadExtras(options, app)),
    ...(readResource === undefined ? {} : { readResource }),
    ...(yield* composeIfWanted(options, { app, words: prompt, stdin, stdinMode, lend: pauseDeadline(limit), signal })),
    cwd: app.cwd,
    env: app.env,
    homes: app.homes,
    stdin,
    clock: app.clock,
    signal,
  });
  if (isTyped) limit.resume();
  return content;
}

/** Attachments other than `-f`; loaded only if a flag needs them. */
async function loadExtras(options: PromptOptions, app: App): Promise<Pick<PromptInput, 'extras'>> {
  if (options.attach === undefined && options.mimeType === undefined && !options.paste) return {};
  return { extras: (await import('./compose.ts')).toExtraAttachments(options, app) };
}

/** Applies template and editor; loaded only if a flag needs them. */
async function* composeIfWanted(
  options: PromptOptions,
  context: ComposeContext,
): AsyncGenerator<TurnEvent, Partial<ComposedPrompt>> {
  if (options.template === undefined && options.param === undefined && !options.editor) return {};
  return yield* (await import('./compose.ts')).composePrompt(options, context);
}

async function prepareContents(
  { history: { contents } }: PromptHistory,
  prompt: Content,
  origin: () => string,
): Promise<readonly Content[]> {
  if (contents.length === 0) return [prompt];
  const { toContents } = await import('../../agent/history.ts');
  return toContents([...contents, prompt], { origin: origin(), distrusted: 0 });
}

async function* preview(...input: Parameters<typeof previewEvents>): AsyncGenerator<TurnEvent, void> {
  yield* (await import('./preview.ts')).preview(...input);
}

async function* countPrompt(...input: Parameters<typeof countEvents>): AsyncGenerator<TurnEvent, void> {
  const { countEvents } = await import('../../app/queries.ts');
  yield* countEvents(...input);
}

function hasNoInput({ args, prompt, file, attach, template, stdin, editor, paste }: PromptOptions): boolean {
  const given = [prompt, file, attach, template].some((value) => value !== undefined);
  return args.length === 0 && !given && !stdin && !editor && !paste;
}

/** With a session but no prompt, the user most likely wants a chat. */
function noInputError({ resume, continue: isNewest, demo }: PromptOptions): AppError {
  if (resume === undefined && !isNewest) return noPromptError();
  const flags = `${demo ? '--demo ' : ''}${isNewest ? '-c' : `-r ${/^[\w-]+$/.test(resume ?? '') ? resume : '…'}`}`;
  return noPromptError(`Try: gmn ${flags} "your question", or go on in a chat: gmn chat ${flags}`);
}

function promptText({ prompt, args }: PromptOptions): string | undefined {
  return prompt ?? (args.length > 0 ? args.join(' ') : undefined);
}

function checkUsage(options: PromptOptions): void {
  if (options.prompt !== undefined && options.args.length > 0) {
    throw new AppError('usage', '-p cannot be combined with a positional prompt', {
      hint: 'Use one of them: gmn "…" or gmn -p "…"',
    });
  }
}

/** Other models reject a request for thoughts. */
function checkThoughts({ modelId }: OpenedModel): void {
  if (canThink(modelId)) return;
  throw new AppError('usage', `${modelId} does not think, as far as gmn knows`, { hint: 'Leave --show-thoughts out.' });
}
