import type { RecordedRun } from './app/recording.ts';
import { type Invocation, matchCompletionCall, type Options, type Outline } from './cli/invocation.ts';
import { guardNearMiss, guardTypedCommand } from './cli/near-miss.ts';
import { matchPromptLine } from './cli/prompt-line.ts';
import { resolveHomes, resolveHomesIfAny } from './config/home.ts';
import { loadSettings } from './config/settings.ts';
import type { App } from './core/app.ts';
import { AppError } from './core/error.ts';
import type { Env, Out } from './core/io.ts';
import { type AppOptions, createApp, processWorld, type World } from './platform/app.ts';
import { isInteractive, type ProcessIo } from './platform/terminal/io.ts';

/** Set by the build; the flags as JSON, since only lines with flags need them. */
declare const OUTLINE: Omit<Outline, 'flags'>;
declare const FLAGS: string;
/** Set by the build: the file beside the program with what `gmn help --json` prints. */
declare const DESCRIPTION: string;

const outline: Outline = { ...OUTLINE, flags: () => JSON.parse(FLAGS) };

/** Runs one command line to its end and returns the exit code. Never throws. */
export async function main(
  argv: readonly string[],
  env: Env,
  version: string,
  world: World = processWorld,
): Promise<number> {
  let io = world.openIo({}, env);
  try {
    const invocation =
      matchCompletionCall(argv) ??
      matchPromptLine(outline, argv, env) ??
      (await (await import('./cli/command-line.ts')).readCommandLine(argv, env));
    if (invocation.kind === 'version') await io.out.write(`${version}\n`);
    else if (invocation.kind === 'help') await io.out.write(await loadHelp(invocation, io.out));
    else if (invocation.kind === 'completion') await io.out.write(await loadCompletion(invocation.shell));
    else {
      const flags = asAppOptions(invocation.options);
      if (flags.color !== undefined || flags.noColor) io = world.openIo(flags, env);
      const exitCode = await run(invocation, { version, env, flags, io, world });
      // A reader that went away changes nothing about an exit code that says something.
      await io.flush().catch((thrown: unknown) => {
        if (exitCode === 0 || AppError.from(thrown).fault !== 'pipe') throw thrown;
      });
      return exitCode;
    }
    await io.flush();
    return 0;
  } catch (thrown) {
    return reportFailure(AppError.from(thrown), { argv, env }, io);
  }
}

/** Commands that are useful without a home directory. */
const WITHOUT_HOME: ReadonlySet<string> = new Set(['gmn', 'gmn chat']);

/** Here `--replay` is what others are served. */
const RECORDS_ITSELF: ReadonlySet<string> = new Set(['gmn demo serve']);

function listKeys({ GEMINI_API_KEY, GOOGLE_API_KEY, GOOGLE_CLOUD_ACCESS_TOKEN }: Env): readonly string[] {
  return [GEMINI_API_KEY, GOOGLE_API_KEY, GOOGLE_CLOUD_ACCESS_TOKEN].filter((key) => key !== undefined);
}

interface RunContext {
  readonly version: string;
  readonly env: Env;
  readonly flags: AppOptions;
  readonly io: ProcessIo;
  readonly world: World;
}

async function run(invocation: RunInvocation, context: RunContext): Promise<number> {
  const { path, options } = invocation;
  guardNearMiss(outline, path === 'gmn' ? options.args : [], isInteractive);
  const findHomes = WITHOUT_HOME.has(path) ? resolveHomesIfAny : resolveHomes;
  const base = await createApp({ ...context, secrets: listKeys(context.env), findHomes, loadSettings });
  const guardPrompt: App['guardPrompt'] = (typed, source) =>
    source === 'asked' ? guardTypedCommand(outline, typed) : guardNearMiss(outline, [typed], () => true);
  const app = { ...base, typedFlags: invocation.typedFlags, guardPrompt };
  const recorded = RECORDS_ITSELF.has(path) ? undefined : await openRecorded(app, context);
  const ended = await runNoticing(invocation, recorded?.app ?? app);
  const exitCode = recorded === undefined ? ended : await recorded.finish(ended);
  const { moreHelp } = invocation;
  if (moreHelp !== undefined && !options.json && !options.quiet) await showNotice(`more: ${moreHelp}`, app);
  return exitCode;
}

async function openRecorded(app: App, { env, flags }: RunContext): Promise<RecordedRun | undefined> {
  const { replay, match, ignore } = flags;
  const { GMN_RECORD: record } = env;
  if (!record && (replay ?? match ?? ignore) === undefined) return undefined;
  return (await import('./app/recording.ts')).openRecordedRun(app, { record, replay, match, ignore });
}

type RunInvocation = Extract<Invocation, { kind: 'run' }>;

/** Says first which flags have no effect. */
async function runNoticing(invocation: RunInvocation, app: App): Promise<number> {
  const { path, options } = invocation;
  if (invocation.idle === undefined) return invocation.run(options, app);
  const notices = invocation.idle.map((flag) => `${flag} has no effect on "${path}"`);
  if (options.json === true) return invocation.run(options, { ...app, notices });
  if (options.quiet !== true) for (const notice of notices) await showNotice(notice, app);
  return invocation.run(options, app);
}

async function showNotice(message: string, { io: { err } }: App): Promise<void> {
  await err.write((await import('./core/text/notice.ts')).formatNotice(message, err));
}

async function loadHelp(
  { path, isShort, isJson }: Extract<Invocation, { kind: 'help' }>,
  { isTerminal, columns }: Out,
): Promise<string> {
  const { formatDescriptionFor, formatHelpFor } = await import('./cli/command-line.ts');
  if (!isJson) {
    const text = await formatHelpFor(path, isShort);
    return isTerminal ? (await import('./core/text/width.ts')).wrapText(text, columns) : text;
  }
  const { readBesideProgram } = await import('./platform/files/read-sync.ts');
  return formatDescriptionFor(path, readBesideProgram(DESCRIPTION));
}

async function loadCompletion(shell: string): Promise<string> {
  const { formatCompletionScript } = await import('./cli/command-line.ts');
  return formatCompletionScript(shell);
}

async function reportFailure(
  error: AppError,
  { argv, env }: { readonly argv: readonly string[]; readonly env: Env },
  io: ProcessIo,
): Promise<number> {
  try {
    const [{ resolveOutput }, { failureRenderer }] = await Promise.all([
      import('./cli/command-line.ts'),
      import('./render/renderers.ts'),
    ]);
    const { format, dialect } = resolveOutput(argv, env);
    const report = async (as: string): Promise<void> =>
      (await failureRenderer(as, dialect, io))({ type: 'failure', error }).then(() => io.flush());
    // The JSON formats report on stdout; if that cannot be written, use stderr.
    const isFinal = format === 'text' || error.fault === 'pipe';
    await report(format).catch(() => (isFinal ? undefined : report('text')));
  } catch {
    // Nothing is left to report to.
  }
  return error.exitCode;
}

function asAppOptions(options: Options): AppOptions {
  return options as AppOptions;
}
