import { type PrintOptions, printReport } from '../../app/report.ts';
import type { App, Settings } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { type Runtime, thisRuntime } from '../../platform/host.ts';
import { exitCodeOf, type Finding, failureOf, isUtf8, jsonOf, look, textOf } from './finding.ts';
import { homeFindings, programFindings, terminalFinding } from './machine.ts';
import { credentialFindings, networkFindings } from './network.ts';
import { modelFinding, serverFindings, settingsFindings } from './settings.ts';

interface DoctorOptions extends PrintOptions {
  readonly online?: boolean;
}

/**
 * Checks everything a run depends on, and prints what is wrong and how to fix it. Changes nothing; sends requests only
 * with `--online`. Returns 0, or the exit code of the most severe failure.
 */
export async function run(options: DoctorOptions, app: App, runtime: Runtime = thisRuntime()): Promise<number> {
  const { settings, error } = await loadedSettings(app);
  const files = await look('settings', () => settingsFindings(app));
  const isExplained = error === undefined || files.some(({ state }) => state === 'failure');
  const findings: readonly Finding[] = [
    ...programFindings(app, runtime),
    ...(await look('home', () => homeFindings(app.homes()))),
    ...files,
    ...(isExplained ? [] : [failureOf('settings', error)]),
    ...(await networkFindings(app)),
    ...(settings === undefined ? [] : await settledFindings(options, app, settings)),
    terminalFinding(app, runtime),
    ...demoFinding(app),
  ];
  const isPlain = app.env.TERM === 'dumb' || !isUtf8(app.env, runtime.platform);
  const exitCode = exitCodeOf(findings);
  const json = { ok: exitCode === 0, version: app.version, checks: jsonOf(findings), ...demoFlag(app) };
  await printReport(
    { text: textOf(findings, { isPlain }), json, notices: [], folds: true, hasMarks: true },
    options,
    app,
  );
  return exitCode;
}

interface Loaded {
  readonly settings?: Settings;
  readonly error?: AppError;
}

async function loadedSettings(app: App): Promise<Loaded> {
  try {
    return { settings: await app.settings() };
  } catch (thrown) {
    return { error: AppError.from(thrown) };
  }
}

/** Checks that need valid settings. */
async function settledFindings({ online }: DoctorOptions, app: App, settings: Settings): Promise<readonly Finding[]> {
  const { findings, choice } = await credentialFindings(app, settings);
  const asked =
    online && choice !== undefined ? await (await import('./online.ts')).onlineFindings(choice, app, settings) : [];
  return [
    ...findings,
    ...asked,
    ...(await look('model', () => [modelFinding(settings)])),
    ...serverFindings(app, settings),
  ];
}

function isDemo({ env }: App): boolean {
  return Boolean(env.GMN_DEMO) && !['0', 'false', 'no', 'off'].includes(env.GMN_DEMO?.toLowerCase() ?? '');
}

function demoFinding(app: App): readonly Finding[] {
  if (!isDemo(app)) return [];
  return [
    {
      check: 'demo',
      state: 'warning',
      text: 'GMN_DEMO is set: the offline model answers',
      remedies: [{ words: 'Ask Gemini again', command: 'unset GMN_DEMO' }],
    },
  ];
}

function demoFlag(app: App): { readonly demo?: true } {
  return isDemo(app) ? { demo: true } : {};
}
