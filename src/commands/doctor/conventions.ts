import type { App } from '../../core/app.ts';
import { type Survey, type SurveyRow, surveyConventions } from '../../engine/conventions.ts';
import { absentFinding, type Finding, okFinding, warningFinding } from './finding.ts';

const KINDS: readonly (keyof Survey)[] = ['skills', 'agents', 'hooks', 'extensions'];

/** What there is of each kind, from where, and what is not used and why. Runs none of it. */
export async function checkConventions(app: App): Promise<readonly Finding[]> {
  const survey = await surveyConventions(app);
  const found = KINDS.filter((kind) => survey[kind].length > 0);
  const none = KINDS.filter((kind) => !found.includes(kind));
  return [
    ...found.flatMap((kind) => survey[kind].map((row) => checkRow(kind, row))),
    ...(none.length === 0 ? [] : [absentFinding('extending', `no ${none.join(', no ')}`)]),
  ];
}

function checkRow(check: string, { name, about, file, why, isChosen }: SurveyRow): Finding {
  if (why === undefined) return okFinding(check, `${name}${check === 'hooks' ? `: ${about}` : ''} (${file})`);
  const text = `${name} is not used: ${why} (${file})`;
  return isChosen ? absentFinding(check, text) : warningFinding(check, text);
}
