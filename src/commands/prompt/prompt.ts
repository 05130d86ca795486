import { runTurn } from '../../agent/turn.ts';
import { openAgent } from '../../app/agent.ts';
import type { AnswerFiles } from '../../app/answer-files.ts';
import type { Budget } from '../../app/budget.ts';
import { hasTools, openHistory, pruneIfDue } from '../../app/history.ts';
import { chooseTimeout, deadlineError, type OpenedModel, openModel } from '../../app/model.ts';
import type { Output } from '../../app/output.ts';
import type { AnswerFormat } from '../../app/output-schema.ts';
import type { openNamedServers } from '../../app/servers/tools.ts';
import type { PromptHistory } from '../../app/sessions.ts';
import type { BackgroundHolder } from '../../app/toolbox.ts';
import type { RunPaused } from '../../approval/approve.ts';
import { readSetting } from '../../config/keys.ts';
import type { App } from '../../core/app.ts';
import type { Content } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { settle, type TurnEvent, toFailure, toNotices } from '../../core/event.ts';
import { shortenId } from '../../core/text/names.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { BilledCall } from '../../core/usage.ts';
import { buildPromptContent, noPromptError } from '../../input/prompt.ts';
import { findIgnoredSampling } from '../../models/generation.ts';
import { canThink } from '../../models/table.ts';
import { onAbort } from '../../platform/runtime/abort.ts';
import { callEvery, createDeadline, type Deadline, nextTurn } from '../../platform/runtime/clock.ts';
import { isInteractive } from '../../platform/terminal/io.ts';
import { systemStdin } from '../../platform/terminal/stdin.ts';
import type { Renderer, RenderOptions } from '../../render/renderer.ts';
import { openRenderer } from '../../render/renderers.ts';
import type { SaveResult } from '../../session/one-shot.ts';
import { appendUsage } from '../../session/usage-log.ts';
import type { PromptOptions } from './options.ts';

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
    const { formatWelcome } = await import('./welcome.ts');
    await app.io.out.write(await formatWelcome(app));
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
  const output = await openOutputIfWanted(options, app);
  const render = await createRenderer(options, output === undefined ? app : { ...app, io: output.io });
  const start = async (): Promise<AsyncIterable<TurnEvent>> => {
    const notices = await checkFlagsIfAny(options, app);
    const events = answer(options, app, notices);
    return output?.events(events) ?? events;
  };
  let exitCode = 0;
  let isSaved = false;
  let hasArrived = false;
  for await (const event of settle(start())) {
    hasArrived ||= event.type === 'text' || event.type === 'call';
    await render(addInterruptHint(event, app.signal, hasArrived));
    if (event.type === 'failure') exitCode = event.error.exitCode;
    if (event.type === 'end' && event.sessionId !== undefined) isSaved = true;
  }
  await output?.close();
  if (isSaved) await pruneIfDue(app);
  return exitCode;
}

async function* answer(options: PromptOptions, app: App, notices: readonly string[]): AsyncGenerator<TurnEvent, void> {
  yield* toNotices(notices);
  checkInput(options);
  const timeoutMs = chooseTimeout(options);
  const deadline = createDeadline(app.signal, timeoutMs, deadlineError);
  const { signal } = deadline;
  onAbort(signal, () => app.expireWrites(AppError.from(signal.reason)));
  const opened: OpenedParts = { background: {} };
  try {
    const prepared = yield* prepareRun(options, app, { deadline, opened });
    if (prepared === undefined) return;
    const { events, complete, fail, save } = prepared;
    // Every piece of the answer passes here. V8 compiles this whole function for it, so what happens once is elsewhere.
    try {
      for await (const event of events) for (const completed of await complete(event)) yield completed;
    } catch (thrown) {
      for (const event of await fail(thrown)) yield event;
    } finally {
      await save();
    }
  } finally {
    deadline.clear();
    await opened.background.commands?.close();
    await opened.servers?.remote.close();
    await opened.kept?.close();
    await opened.model?.close();
  }
}

interface OpenedParts {
  readonly background: BackgroundHolder;
  kept?: PromptHistory;
  model?: OpenedModel;
  servers?: NamedServers;
}

interface PreparedRun {
  readonly events: AsyncIterable<TurnEvent>;
  complete(event: TurnEvent): readonly TurnEvent[] | Promise<readonly TurnEvent[]>;
  fail(thrown: unknown): Promise<Iterable<TurnEvent>>;
  /** Saves the session, once; also for a consumer that stops reading. */
  save(): Promise<SaveResult>;
}

/** Opens everything into `opened` and reads the prompt. Undefined if this is a preview, which is over by then. */
async function* prepareRun(
  given: PromptOptions,
  app: App,
  { deadline, opened }: { readonly deadline: Deadline; readonly opened: OpenedParts },
): AsyncGenerator<TurnEvent, PreparedRun | undefined> {
  const { signal, endsAt } = deadline;
  const format = await openAnswerFormatIfWanted(given, app);
  const kept = await openHistory(given, app);
  opened.kept = kept;
  yield* toNotices(kept.notices);
  const keeping = kept.setup && (await import('../../app/kept-setup.ts'));
  const options = kept.setup && keeping ? { ...given, ...keeping.chooseKept(given, kept.setup) } : given;
  const calls: BilledCall[] = [];
  // An upload does not count against the default timeout, but against one that the user set.
  const pause = options.timeout === undefined ? deadline.pause : undefined;
  const budget = await openBudgetIfLimited(options, app);
  const model = await openModel(options, app, {
    endsAt,
    pause,
    onCall: (call) => void calls.push(call),
    budget,
  });
  opened.model = model;
  if (model.timeoutMs !== chooseTimeout(options)) deadline.restart(model.timeoutMs);
  const asked = kept.setup && keeping?.describeAsked(model, kept.setup, given, (await app.settings()).model);
  yield* toNotices([...model.notices, ...(asked ?? []), ...findIgnoredSampling(model.modelId, options)]);
  if (options.showThoughts) checkThoughts(model);
  if (options.isPicture) (await import('./pictures.ts')).checkPictures(model);
  const servers = yield* openServersIfNamed(options, app, deadline);
  opened.servers = servers;
  const prompt = yield* readPrompt(options, { app, deadline, model, ...servers });
  const runPaused = pauseDeadline(deadline);
  const { background } = opened;
  const context = { app, opened: model, runPaused, background, ...servers };
  const { takeDenials, setup, ...plain } = yield* openAgent(options, context);
  kept.keepSetup?.(setup);
  const agent = format.agent(plain);
  const { history, save: saveHistory } = kept;
  if (options.dryRun || options.countTokens) {
    const { previewTurn } = await import('./preview.ts');
    yield* previewTurn(options, { app, opened: model, agent, history, prompt, signal });
    return undefined;
  }
  let saving: Promise<SaveResult> | undefined;
  const saveOnce = async (): Promise<SaveResult> => {
    // A session without an answer is not kept, but what the service counted for it is.
    const { sessionId } = kept;
    const saved = await saveHistory();
    recordUsage(app, saved.sessionId ?? sessionId, calls);
    return saved;
  };
  const save = (): Promise<SaveResult> => (saving ??= saveOnce());
  const files = options.isPicture ? await openFiles(options, app) : lazyFiles(options, app);
  return {
    events: format.run(agent, { history, prompt, signal }),
    save,
    complete(event) {
      const denials = takeDenials().map((message) => ({ type: 'notice', message, isDenial: true }) as const);
      if (event.type === 'begin') return [...denials, { ...event, ...describeSession(kept) }];
      if (event.type === 'text') return [...denials, ...files.takeText(event)];
      if (event.type === 'file') return files.add(event.file);
      if (event.type !== 'end') return [...denials, event];
      const computeCost = () => computeCostIfShown(options, app, calls);
      return completeEnd(event, { denials, files, save, computeCost });
    },
    async fail(thrown) {
      const saved = await save();
      return describeFailure(thrown, saved, await rescueFiles(files, saved));
    },
  };
}

type EndEvent = Extract<TurnEvent, { type: 'end' }>;

interface Completion {
  readonly denials: readonly TurnEvent[];
  readonly files: AnswerFiles;
  save(): Promise<SaveResult>;
  computeCost(): Promise<Pick<EndEvent, 'cost'>>;
}

async function completeEnd(event: EndEvent, completion: Completion): Promise<readonly TurnEvent[]> {
  const { denials, files, save, computeCost } = completion;
  const { notices, ...saved } = await save();
  const rest = await files.finish();
  return [...denials, ...rest, ...toNotices(notices), { ...event, ...(await computeCost()), ...saved }];
}

async function openFiles(options: PromptOptions, app: App): Promise<AnswerFiles> {
  const { createAnswerFiles } = await import('../../app/answer-files.ts');
  const canPipe = (options.outputFormat ?? 'text') === 'text' && !app.io.out.isTerminal;
  const isPicture = options.isPicture ?? false;
  return createAnswerFiles(options, { app, prompt: joinPrompt(options) ?? '', canPipe, isPicture });
}

/** Opened by the first file of an answer: most answers are text alone. */
function lazyFiles(options: PromptOptions, app: App): AnswerFiles {
  let hasText = false;
  let opened: AnswerFiles | undefined;
  return {
    takeText(event) {
      hasText = true;
      return [event];
    },
    async add(file) {
      opened ??= await openFiles(options, app);
      return opened.add(file);
    },
    async finish() {
      if (hasText) opened?.takeText({ type: 'text', delta: '' });
      return (await opened?.finish()) ?? [];
    },
    rescue: async () => (await opened?.rescue()) ?? [],
    hasLost: () => opened?.hasLost() ?? false,
  };
}

/** Files that could not be saved are paid for, so a notice says how to get them. */
async function rescueFiles(files: AnswerFiles, { sessionId }: SaveResult): Promise<readonly TurnEvent[]> {
  const events = await files.rescue();
  if (sessionId === undefined || !files.hasLost()) return events;
  const message = `the session keeps what could not be saved: gmn sessions export ${shortenId(sessionId)} page.html`;
  return [...events, { type: 'notice', message }];
}

/** Loads the prices only for a run that shows what it cost. */
async function computeCostIfShown(
  { outputFormat = 'text', usage: showsUsage }: PromptOptions,
  app: App,
  calls: readonly BilledCall[],
): Promise<Pick<EndEvent, 'cost'>> {
  if (outputFormat === 'text' && !showsUsage) return {};
  const { sumCosts } = await import('../../models/prices.ts');
  return { cost: sumCosts(calls, readSetting((await app.settings()).document ?? {}, 'prices')) };
}

function recordUsage({ homes, clock, cwd }: App, id: string | undefined, calls: readonly BilledCall[]): void {
  if (id !== undefined) appendUsage(homes().gmn, { at: clock.now(), kind: 'prompt', id, cwd, calls });
}

async function openBudgetIfLimited(options: PromptOptions, app: App): Promise<Budget | undefined> {
  const { maxCost } = options;
  if (maxCost === undefined) return undefined;
  const { openBudget } = await import('../../app/budget.ts');
  const isSaved = hasTools(options) && !options.noSession && !options.demo;
  const resume = isSaved
    ? ' To continue where it stopped: gmn -c "continue", with the same --tools and a higher --max-cost.'
    : '';
  return openBudget({ maxCost, hint: `Raise --max-cost, or choose a cheaper model with -m.${resume}` }, app);
}

function* describeFailure(
  thrown: unknown,
  { notices, sessionId }: SaveResult,
  rescued: readonly TurnEvent[],
): Generator<TurnEvent, void> {
  yield* rescued;
  yield* toNotices(notices);
  yield* toFailure(thrown, sessionId);
}

function describeSession({ sessionId, isResumable }: PromptHistory) {
  return { sessionId, isResumable };
}

async function checkFlagsIfAny(options: PromptOptions, { env }: App): Promise<readonly string[]> {
  return Object.keys(options).length === 1 ? [] : (await import('./idle-flags.ts')).checkFlags(options, env);
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

async function openAnswerFormatIfWanted(options: PromptOptions, app: App): Promise<AnswerFormat> {
  const { outputSchema } = options;
  const format: AnswerFormat =
    outputSchema === undefined
      ? { agent: (agent) => agent, run: runTurn }
      : await (await import('../../app/output-schema.ts')).readAnswerFormat(outputSchema, app);
  if (options.verify === undefined) return format;
  return (await import('../../app/verify.ts')).addVerification(format, options, app);
}

type NamedServers = Awaited<ReturnType<typeof openNamedServers>>;

async function* openServersIfNamed(
  options: PromptOptions,
  app: App,
  deadline: Deadline,
): AsyncGenerator<TurnEvent, NamedServers | undefined> {
  if (options.allowedMcpServerNames === undefined && options.mcpConfig === undefined) {
    const names = ((await app.settings()).servers ?? []).map(({ name }) => sanitize(name));
    if (names.length > 0)
      app.trace(`MCP servers that are not used: ${names.join(', ')}; --allowed-mcp-server-names uses them`);
    return undefined;
  }
  yield { type: 'wait', what: 'the MCP servers' };
  const isPreview = options.dryRun === true || options.countTokens === true;
  const context = { app, runPaused: pauseDeadline(deadline), signal: deadline.signal, isPreview };
  const servers = await (await import('../../app/servers/tools.ts')).openNamedServers(options, context);
  yield* toNotices(servers.remote.notices);
  return servers;
}

function pauseDeadline(deadline: Deadline): RunPaused {
  return async (work) => {
    const resume = deadline.pause();
    return work().finally(resume);
  };
}

interface ReadingContext extends Partial<NamedServers> {
  readonly app: App;
  readonly deadline: Deadline;
  readonly model: OpenedModel;
}

async function* readPrompt(
  options: PromptOptions,
  { app, deadline, model, readResource }: ReadingContext,
): AsyncGenerator<TurnEvent, Content> {
  const { cwd, env, homes, clock } = app;
  const { signal } = deadline;
  const stdin = systemStdin();
  const prompt = joinPrompt(options);
  const isTyped = (options.stdin || prompt === '-') && (await stdin.isTerminal());
  const resume = isTyped ? deadline.pause() : undefined;
  const stdinMode = options.stdin ? 'always' : options.noStdin ? 'never' : 'auto';
  const composing = { app, words: prompt, stdin, stdinMode, runPaused: pauseDeadline(deadline), signal } as const;
  const content = yield* buildPromptContent({
    prompt,
    files: options.file ?? [],
    stdinMode,
    allowsMentions: !options.noAt,
    fileSupport: model.fileSupport,
    allowsStdinMentions: options.isOfficial,
    readResource,
    ...(prompt?.startsWith('/') || COMPOSE_FLAGS.some((name) => options[name] !== undefined)
      ? yield* (await import('./compose.ts')).composeInput(options, composing)
      : {}),
    ...{ cwd, env, homes, stdin, clock, signal },
  });
  resume?.();
  return content;
}

const COMPOSE_FLAGS = ['attach', 'mimeType', 'paste', 'template', 'param', 'editor'] as const;

/** Throws AppError `usage` if there is no prompt, or more than one. */
function checkInput(options: PromptOptions): void {
  if (options.prompt !== undefined && options.args.length > 0) {
    throw new AppError('usage', '-p cannot be combined with a positional prompt', {
      hint: 'Use one of them: gmn "…" or gmn -p "…"',
    });
  }
  if (hasNoInput(options) && systemStdin().kind() === 'none') throw noInputError(options);
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

function joinPrompt({ prompt, args }: PromptOptions): string | undefined {
  return prompt ?? (args.length > 0 ? args.join(' ') : undefined);
}

/** Other models reject a request for thoughts. */
function checkThoughts({ modelId }: OpenedModel): void {
  if (canThink(modelId)) return;
  throw new AppError('usage', `${modelId} does not think, as far as gmn knows`, { hint: 'Leave --show-thoughts out.' });
}
