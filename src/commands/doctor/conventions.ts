import { readPolicies } from '../../config/policies.ts';
import type { App } from '../../core/app.ts';
import { plural } from '../../core/text/format.ts';
import { type Survey, type SurveyRow, surveyConventions } from '../../engine/tools/conventions.ts';
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

/** The policies of the official CLI, of the machine and of the user. */
export async function checkPolicies(app: App): Promise<readonly Finding[]> {
  const { files, rules, broken, ignored } = await readPolicies(app);
  const sound = files.filter((file) => !broken.some((each) => each.file === file));
  const found = sound.map((file) => {
    const count = rules.filter((rule) => rule.file === file && rule.decision !== 'allow').length;
    return okFinding(
      'policies',
      `${plural(count, 'rule')} that ${count === 1 ? 'denies or asks' : 'deny or ask'} (${file})`,
    );
  });
  const faults = [
    ...broken.map(({ file, why }) =>
      warningFinding('policies', `${file} cannot be read: ${why}; every call that does more than read is asked about`),
    ),
    ...ignored.map((text) => warningFinding('policies', text)),
  ];
  return [...found, ...faults];
}
