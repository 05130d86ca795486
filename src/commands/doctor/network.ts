import { findExposedFiles, type Survey, surveyCredentials } from '../../auth/survey.ts';
import type { App, Settings } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { checkEndpoint } from '../../core/text/url.ts';
import { type OpenedBackend, openBackend } from '../../engine/model/backend.ts';
import { readPathStatus } from '../../platform/files/read.ts';
import { findProxy } from '../../platform/http/send.ts';
import { absentFinding, type Finding, okFinding, runCheck, warningFinding } from './finding.ts';

const ENDPOINTS = ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL', 'CODE_ASSIST_ENDPOINT', 'GMN_OAUTH_TOKEN_URL'];

export async function checkNetwork({ env }: App): Promise<readonly Finding[]> {
  const endpoints = await Promise.all(
    ENDPOINTS.filter((name) => env[name]).map((name) => runCheck('endpoint', () => [checkEndpointVariable(name, env)])),
  );
  const found = endpoints.flat();
  const none: Finding = okFinding('endpoint', "Google's own");
  return [
    ...(found.length === 0 ? [none] : found),
    ...(await runCheck('proxy', () => [checkProxy(env)])),
    ...checkCertificates(env),
  ];
}

function checkEndpointVariable(name: string, env: Env): Finding {
  return okFinding('endpoint', `${name} is ${checkEndpoint(env[name] ?? '', name).origin}`);
}

/** Omits the user name and password the variable may hold. */
function checkProxy(env: Env): Finding {
  const proxy = findProxy(new URL('https://generativelanguage.googleapis.com'), env);
  if (proxy === undefined) return absentFinding('proxy', 'none');
  return okFinding('proxy', `${proxy.protocol}//${proxy.host}`);
}

function checkCertificates(env: Env): readonly Finding[] {
  const { NODE_EXTRA_CA_CERTS: file, NODE_TLS_REJECT_UNAUTHORIZED: reject } = env;
  const found: Finding[] = [];
  if (reject === '0') {
    found.push(
      warningFinding(
        'certificates',
        'NODE_TLS_REJECT_UNAUTHORIZED is 0, which gmn ignores: certificates are always checked',
        { words: 'To avoid this warning', command: 'unset NODE_TLS_REJECT_UNAUTHORIZED' },
      ),
    );
  }
  if (!file) return found;
  const exists = readPathStatus(file)?.kind === 'file';
  const missing: Finding = warningFinding('certificates', `NODE_EXTRA_CA_CERTS names ${file}, which does not exist`, {
    words: 'Name another file, or none',
    command: 'unset NODE_EXTRA_CA_CERTS',
  });
  const used = `NODE_EXTRA_CA_CERTS is ${file}; Node reads it at every start, which takes time`;
  return [...found, exists ? okFinding('certificates', used) : missing];
}

interface CredentialFindings {
  readonly findings: readonly Finding[];
  /** Absent if a run would fail before it sends a request. */
  readonly choice?: Survey['choice'];
  readonly backend: OpenedBackend['name'] | undefined;
}

/** The credential a run would use, its source and expiry. Sends nothing, changes nothing. */
export async function checkCredential(app: App, settings: Settings): Promise<CredentialFindings> {
  const input = { ...app, settings };
  let backend: OpenedBackend['name'] | undefined;
  const survey = await surveyCredentials(input, async (choice) => {
    await choice.check?.();
    backend = (await openBackend(choice, { app, settings, notify: () => {} })).name;
  });
  const exposed = (await findExposedFiles(input)).map(({ text, command }): Finding => {
    return { check: 'credential', state: 'warning', text, remedies: [{ words: 'Make it private', command }] };
  });
  const finding = toCredentialFinding(survey);
  const isUsable = finding.state === 'ok' && survey.choice !== undefined;
  return {
    findings: [finding, ...exposed, ...checkEnd(backend)],
    backend,
    choice: isUsable ? survey.choice : undefined,
  };
}

/** https://docs.cloud.google.com/gemini/docs/deprecations/features */
const END_OF_CODE_ASSIST =
  'Google is ending Code Assist: no new subscriptions since 9 October 2026, no new licences or yearly renewals as of ' +
  '31 January 2027, no monthly renewals after 31 December 2027. An API key will do then: gmn auth set-key';

function checkEnd(backend: OpenedBackend['name'] | undefined): readonly Finding[] {
  return backend === 'code-assist' ? [okFinding('backend', END_OF_CODE_ASSIST)] : [];
}

function toCredentialFinding({ error, rows: [row] }: Survey): Finding {
  const text = row === undefined ? '' : [row.name, ...row.details].join(', ');
  if (error === undefined && row?.state === 'used') return okFinding('credential', text);
  const failure = error ?? new AppError('auth', text);
  const lines = row?.lines.filter((line) => line.startsWith('→ ')).map((line) => ({ words: line.slice(2) })) ?? [];
  const remedies =
    failure.fault === 'auth' ? [...lines, { words: 'To keep an API key', command: 'gmn auth set-key' }] : lines;
  return { check: 'credential', state: 'failure', fault: failure.fault, text: failure.shortMessage || text, remedies };
}
