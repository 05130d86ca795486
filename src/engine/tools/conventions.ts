import { createTrustCheck } from '../../config/context.ts';
import { type FoundAgents, findAgents } from '../../config/conventions/agents.ts';
import { findPendingHooks } from '../../config/conventions/folder-hooks.ts';
import { type Hook, parseHooks } from '../../config/conventions/hooks.ts';
import type { PlaceContext, Skipped } from '../../config/conventions/places.ts';
import { type FoundSkills, findSkills, listSkillFiles, type Skill } from '../../config/conventions/skills.ts';
import { readSetting } from '../../config/keys.ts';
import { readLayers } from '../../config/layers.ts';
import type { App, Settings } from '../../core/app.ts';
import { joinFirst, plural } from '../../core/text/format.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { ToolSkill } from '../../core/tool.ts';

/** The skills and sub-agents that a run may use. */
export interface Conventions extends Pick<FoundSkills, 'skills'>, Pick<FoundAgents, 'agents'> {
  /** Those of the skills that the model may choose. */
  readonly toolSkills: readonly ToolSkill[];
  readonly skipped: readonly Skipped[];
}

/** A faulty file is skipped, and never fails the run. */
export async function readConventions(app: Pick<App, 'env' | 'cwd' | 'homes' | 'settings'>): Promise<Conventions> {
  const settings = await app.settings();
  const context: PlaceContext = { ...app, settings };
  const [found, { agents, skipped }] = await Promise.all([findSkills(context), findAgents(context)]);
  const { skills } = found;
  const toolSkills = skills.filter(({ isForUser }) => !isForUser).map(toToolSkill);
  return { skills, agents, toolSkills, skipped: [...found.skipped, ...skipped] };
}

/** One thing that is there, for a person who asks. */
export interface SurveyRow {
  readonly name: string;
  readonly about: string;
  readonly file: string;
  readonly why?: string;
  /** The user has decided so. */
  readonly isChosen?: boolean;
}

export type Survey = Readonly<Record<'skills' | 'agents' | 'hooks' | 'extensions', readonly SurveyRow[]>>;

/** All there is, from where, and what is not used and why. Nothing is run. Throws AppError `config`. */
export async function surveyConventions(app: Pick<App, 'env' | 'cwd' | 'homes' | 'settings'>): Promise<Survey> {
  const settings = await app.settings();
  const { skipped: unused } = await readLayers(app);
  const found = await readConventions(app);
  const { hooks, faults } = parseHooks(settings.hooks ?? []);
  const pending = await findPendingHooks(app, createTrustCheck({ ...app, homes: app.homes(), settings }));
  const { isOn, isOff } = readHookSwitches(settings);
  const toRows = (wanted: Skipped['kind']): readonly SurveyRow[] =>
    [...found.skipped, ...pending, ...unused]
      .filter(({ kind }) => kind === wanted)
      .map(({ name, file, why, isQuiet }) => ({ name, file, why, about: '', isChosen: isQuiet }));
  return {
    skills: [...found.skills.map(({ name, description: about, file }) => ({ name, about, file })), ...toRows('skill')],
    agents: [...found.agents.map(({ name, description: about, file }) => ({ name, about, file })), ...toRows('agent')],
    hooks: [
      ...hooks.map((hook) => ({
        name: hook.matcher === undefined ? hook.name : `${hook.name} (${hook.matcher})`,
        about: hook.command,
        file: hook.file,
        why: isOn
          ? isOff(hook)
            ? 'hooksConfig.disabled in the settings names it'
            : undefined
          : 'hooksConfig.enabled in the settings is false',
      })),
      ...faults.map(({ isQuiet, ...fault }) => ({ ...fault, about: '', isChosen: isQuiet || undefined })),
      ...toRows('hook'),
    ],
    extensions: [
      ...(settings.extensions ?? []).map(({ name, version = '', file }) => ({ name, about: version, file })),
      ...toRows('extension'),
    ],
  };
}

export function readHookSwitches({ document = {} }: Pick<Settings, 'document'>) {
  const names = readSetting(document, 'hooksConfig.disabled') ?? [];
  return {
    isOn: readSetting(document, 'hooksConfig.enabled') ?? true,
    isOff: ({ name, command }: Pick<Hook, 'name' | 'command'>): boolean =>
      names.includes(command) || names.includes(name.replace(/^\S+ /, '')),
  };
}

const MAX_FILES = 200;

function toToolSkill(skill: Skill): ToolSkill {
  const { name, body, directory } = skill;
  return { name, body, directory, listFiles: () => listSkillFiles(skill, MAX_FILES) };
}

const MAX_NAMED = 5;

/** One notice for each folder that has to be looked at, and one for all that is faulty. */
export function formatSkipped(skipped: readonly Skipped[]): readonly string[] {
  const loud = skipped.filter(({ isQuiet }) => !isQuiet);
  const folders = [...new Set(loud.flatMap(({ pendingIn }) => pendingIn ?? []))];
  const pending = folders.map((folder) => {
    const own = loud.filter(({ pendingIn }) => pendingIn === folder);
    const isNew = own.every(({ why }) => why === own[0]?.why) ? own[0]?.why : 'they are new or have changed';
    return `${sanitize(folder)}: ${nameAll(own)} not used: ${isNew}. To review and approve, run: gmn trust ${sanitize(folder)}`;
  });
  const faulty = loud.filter(({ pendingIn }) => pendingIn === undefined);
  return [
    ...pending,
    ...faulty.slice(0, MAX_NAMED).map(({ file, why }) => `${sanitize(file)} is not used: ${sanitize(why)}`),
    ...(faulty.length > MAX_NAMED
      ? [`${plural(faulty.length - MAX_NAMED, 'more file')} not used: gmn doctor names them`]
      : []),
  ];
}

function nameAll(skipped: readonly Skipped[]): string {
  return joinFirst(skipped, MAX_NAMED, ({ kind, name }) => `${kind} ${sanitize(JSON.stringify(name))}`);
}
