import { openBackend } from '../../app/backend.ts';
import { exposedFiles, type Survey, surveyCredentials } from '../../auth/survey.ts';
import type { App, Settings } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Finding } from './finding.ts';

/** The credential a run would use, and what it can be told without asking anyone. */
export interface CredentialFindings {
  readonly findings: readonly Finding[];
  /** Absent if a run would not get as far as asking. */
  readonly choice?: Survey['choice'];
}

/** Which credential a run would use, from where, until when. Sends nothing, changes nothing. */
export async function credentialFindings(app: App, settings: Settings): Promise<CredentialFindings> {
  const input = { ...app, settings };
  const survey = await surveyCredentials(input, async (choice) => {
    await choice.look?.();
    await openBackend(choice, { app, settings });
  });
  const exposed = (await exposedFiles(input)).map((warning): Finding => {
    const [text = '', command] = warning.split(' Mend it: ');
    const remedies = command === undefined ? {} : { remedies: [{ words: 'For your eyes only', command }] };
    return { check: 'credential', state: 'warning', text, ...remedies };
  });
  const finding = credentialFinding(survey);
  const isUsable = finding.state === 'ok' && survey.choice !== undefined;
  return { findings: [finding, ...exposed], ...(isUsable ? { choice: survey.choice } : {}) };
}

function credentialFinding({ error, rows: [row] }: Survey): Finding {
  const text = row === undefined ? '' : [row.name, ...row.details].join(', ');
  if (error === undefined && row?.state === 'used') return { check: 'credential', state: 'ok', text };
  const failure = error ?? new AppError('auth', text);
  const lines = row?.lines.filter((line) => line.startsWith('→ ')).map((line) => ({ words: line.slice(2) })) ?? [];
  const remedies =
    failure.fault === 'auth' ? [...lines, { words: 'To keep an API key', command: 'gmn auth set-key' }] : lines;
  return { check: 'credential', state: 'failure', fault: failure.fault, text: failure.words || text, remedies };
}
