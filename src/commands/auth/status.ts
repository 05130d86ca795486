import { createNoticeCollector } from '../../app/notice-collector.ts';
import { type PrintOptions, printReport } from '../../app/report.ts';
import type { ChoiceInput, CredentialChoice } from '../../auth/choice.ts';
import {
  findExposedFiles,
  REFRESHED_LATER,
  type SourceRow,
  type Survey,
  surveyCredentials,
} from '../../auth/survey.ts';
import type { App, Settings } from '../../core/app.ts';
import { AppError, FAULTS } from '../../core/error.ts';
import type { JsonObject } from '../../core/json.ts';
import { openBackend } from '../../engine/model/backend.ts';
import { createQueries } from '../../engine/model/queries.ts';

export interface AuthStatusOptions extends PrintOptions {
  readonly auth?: string;
  readonly online?: boolean;
}

interface ProbeRow {
  readonly ok: boolean;
  readonly text: string;
  readonly hints?: readonly string[];
}

export type Probe = (choice: CredentialChoice, signal: AbortSignal) => Promise<readonly ProbeRow[]>;

/**
 * Shows which credential would be used, its source and expiry, and what else was found. Sends nothing without
 * `--online`. Returns 0 if the credential is usable, else the exit code a run would have.
 */
export async function run(options: AuthStatusOptions, app: App, probe?: Probe): Promise<number> {
  const settings = await app.settings();
  const reported: string[] = [];
  const input: ChoiceInput = {
    ...app,
    settings,
    notify: (message) => reported.push(message),
    flag: options.auth,
  };
  const look = (): Promise<Survey> =>
    surveyCredentials(input, async (choice) => {
      // With `--online` the server checks it instead.
      if (!options.online) await choice.check?.();
      await openBackend(choice, { app, settings, notify: () => {} });
    });
  const found = await look();
  const { choice, error } = found;
  const isAsked = options.online && choice !== undefined && error === undefined;
  const probed = isAsked ? await (probe ?? createProbe(app, settings))(choice, app.signal) : [];
  // The check may have refreshed the token.
  const survey = probed.length === 0 ? found : applyProbe(await look(), probed);
  const isUsable = survey.rows[0]?.state === 'used';
  const exposed = (await findExposedFiles(input)).map(({ text, command }) => `${text} Fix it: ${command}`);
  const notices = [...new Set([...settings.notices, ...reported, ...exposed])];
  const json = toSurveyJson(survey, probed, isUsable);
  await printReport({ text: formatSurvey(survey), json, notices, hasMarks: true }, options, app);
  return isUsable ? 0 : FAULTS[error?.fault ?? 'auth'].exitCode;
}

/** Asks the backend whether it accepts the credential, and for the remaining quota. Throws only the signal's reason. */
function createProbe(app: App, settings: Settings): Probe {
  const { notify } = createNoticeCollector({}, app);
  return async (choice, signal) => {
    try {
      const queries = await createQueries(await openBackend(choice, { app, settings, notify }), app);
      const { lines } = await queries.checkAccount(signal);
      return lines.map((text) => ({ ok: true, text }));
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      const { shortMessage: text, hint } = AppError.from(thrown);
      return [{ ok: false, text, hints: hint === undefined ? undefined : [hint] }];
    }
  };
}

const MARKS: Readonly<Record<SourceRow['state'], string>> = { used: '✓', unusable: '✗', found: '–', absent: '–' };

/** What the servers said takes the place of what was expected of the credential. */
function applyProbe({ rows: [used, ...others], ...survey }: Survey, probed: readonly ProbeRow[]): Survey {
  if (used === undefined) return { ...survey, rows: others };
  const state = probed.every(({ ok }) => ok) ? 'used' : 'unusable';
  const details = used.details.filter((detail) => detail !== REFRESHED_LATER);
  return { ...survey, rows: [{ ...used, state, details, lines: probed.flatMap(formatProbe) }, ...others] };
}

function formatSurvey({ rows }: Survey): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows
    .map(({ name, state, details, lines }) => {
      const head = `${MARKS[state]} ${name.padEnd(width)}  ${details.join('  ')}\n`;
      return [head, ...lines.map((line) => `    ${line}\n`)].join('');
    })
    .join('');
}

function formatProbe({ text, hints = [] }: ProbeRow): readonly string[] {
  return [text, ...hints.map((hint) => `→ ${hint}`)];
}

function toSurveyJson(
  { choice, error, email, rows }: Survey,
  probed: readonly ProbeRow[],
  isUsable: boolean,
): JsonObject {
  const sources = rows.map(({ name, state, details }) => ({ name, state, details }));
  return {
    usable: isUsable,
    credential: choice === undefined ? null : toCredentialJson(choice, email),
    error: error && { message: error.message, suggestion: error.hint ?? '' },
    sources,
    online: probed.length === 0 ? undefined : probed.map(({ ok, text, hints = [] }) => ({ ok, text, hints })),
  };
}

function toCredentialJson({ credential, token }: NonNullable<Survey['choice']>, email: string | undefined): JsonObject {
  const { type, source, account } = credential;
  const expiresAt = token?.expiresAt === undefined ? undefined : new Date(token.expiresAt).toISOString();
  return { type, source, account, email, expiresAt, renewable: token?.canRefresh };
}
