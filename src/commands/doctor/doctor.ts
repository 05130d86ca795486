import { type PrintOptions, printReport } from '../../app/report.ts';
import type { App, Settings } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { readCachedDefault } from '../../models/choice.ts';
import { detectRuntime, type Runtime } from '../../platform/host.ts';
import { checkConventions, checkPolicies } from './conventions.ts';
import {
  type Finding,
  formatFindings,
  isUtf8Locale,
  runCheck,
  toExitCode,
  toFailedFinding,
  toFindingsJson,
  warningFinding,
} from './finding.ts';
import { checkHome, checkProgram, checkTerminal } from './machine.ts';
import { checkCredential, checkNetwork } from './network.ts';
import { checkSandbox } from './sandbox.ts';
import { checkDefinitions, checkModelSetting, checkSettings } from './settings.ts';

interface DoctorOptions extends PrintOptions {
  readonly online?: boolean;
}

/** Changes nothing; sends requests only with `--online`. Returns 0, or the exit code of the most severe failure. */
export async function run(options: DoctorOptions, app: App, runtime: Runtime = detectRuntime()): Promise<number> {
  const { settings, error } = await tryLoadSettings(app);
  const files = await runCheck('settings', () => checkSettings(app));
  const isExplained = error === undefined || files.some(({ state }) => state === 'failure');
  const homes = await runCheck('home', () => checkHome(app.homes()));
  const isBroken = ({ state }: Finding): boolean => state === 'failure';
  const findings: readonly Finding[] = [
    // Without a home most of what follows cannot be right.
    ...homes.filter(isBroken),
    ...checkProgram(app, runtime),
    ...homes.filter((finding) => !isBroken(finding)),
    ...files,
    ...(isExplained ? [] : [toFailedFinding('settings', error)]),
    ...(await checkNetwork(app)),
    ...(settings === undefined ? [] : await checkWithSettings(options, app, settings)),
    checkTerminal(app, runtime),
    ...findDemo(app),
  ];
  const isPlain = app.env.TERM === 'dumb' || !isUtf8Locale(app.env, runtime.platform);
  const exitCode = toExitCode(findings);
  const json = { ok: exitCode === 0, version: app.version, checks: toFindingsJson(findings), ...toDemoField(app) };
  await printReport({ text: formatFindings(findings, { isPlain }), json, notices: [], hasMarks: true }, options, app);
  return exitCode;
}

interface LoadedSettings {
  readonly settings?: Settings;
  readonly error?: AppError;
}

async function tryLoadSettings(app: App): Promise<LoadedSettings> {
  try {
    return { settings: await app.settings() };
  } catch (thrown) {
    return { error: AppError.from(thrown) };
  }
}

async function checkWithSettings({ online }: DoctorOptions, app: App, settings: Settings): Promise<readonly Finding[]> {
  const { findings, choice, backend } = await checkCredential(app, settings);
  const onlineFindings =
    online && choice !== undefined ? await (await import('./online.ts')).checkOnline(choice, app, settings) : [];
  const owner = choice && backend && { backend, account: choice.credential.account };
  const fallback = owner && readCachedDefault(app, owner);
  return [
    ...findings,
    ...onlineFindings,
    ...(await runCheck('model', () => [checkModelSetting(settings, { backend, fallback })])),
    ...checkDefinitions(app, settings),
    ...(await runCheck('sandbox', () => checkSandbox(app))),
    ...(await runCheck('extending', () => checkConventions(app))),
    ...(await runCheck('policies', () => checkPolicies(app))),
  ];
}

function isDemo({ env }: App): boolean {
  return Boolean(env.GMN_DEMO) && !['0', 'false', 'no', 'off'].includes(env.GMN_DEMO?.toLowerCase() ?? '');
}

function findDemo(app: App): readonly Finding[] {
  if (!isDemo(app)) return [];
  return [
    warningFinding('demo', 'GMN_DEMO is set: the offline model answers', {
      words: 'Ask Gemini again',
      command: 'unset GMN_DEMO',
    }),
  ];
}

function toDemoField(app: App): { readonly demo?: true } {
  return isDemo(app) ? { demo: true } : {};
}
