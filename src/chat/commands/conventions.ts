import { sanitize } from '../../core/text/terminal.ts';
import { type Survey, type SurveyRow, surveyConventions } from '../../engine/tools/conventions.ts';
import type { ListRow } from '../rows.ts';
import type { SlashCommand } from './command.ts';

export const SKILLS: SlashCommand = listing('skills', {
  help: 'List the skills; /skill:name words uses one',
  none: 'There are no skills. They are folders in ~/.gemini/skills, ~/.agents/skills or ~/.claude/skills.',
});

export const AGENTS: SlashCommand = listing('agents', {
  aliases: ['agent'],
  help: 'List the sub-agents; @name words asks one',
  none: 'There are no sub-agents. They are files in ~/.gemini/agents, or .gemini/agents of a trusted folder.',
});

export const HOOKS: SlashCommand = listing('hooks', {
  help: 'List the hooks: commands of the settings that run at certain events',
  none: 'There are no hooks. They are in the settings: gmn config explain hooks',
});

export const EXTENSIONS: SlashCommand = listing('extensions', {
  help: 'List the extensions that the official CLI has installed',
  none: 'There are no extensions. The official CLI installs them: gemini extensions install',
});

interface Listing extends Pick<SlashCommand, 'help' | 'aliases'> {
  /** What is said if there are none. */
  readonly none: string;
}

function listing(name: keyof Survey, { help, aliases, none }: Listing): SlashCommand {
  return {
    name,
    aliases,
    onlyShows: true,
    help,
    async run(_, { app, view }) {
      const rows = (await surveyConventions(app))[name];
      if (rows.length === 0) await view.say(none);
      else await view.list(rows.map(toListRow));
    },
  };
}

function toListRow({ name, about, file, why }: SurveyRow): ListRow {
  const state = why === undefined ? about : `not used: ${why}`;
  return [
    sanitize(name),
    [state, file]
      .filter((text) => text !== '')
      .map(sanitize)
      .join(' · '),
  ];
}
