import { leafPaths } from '../config/explanation.ts';
import { formatKeyPath, settingKeys } from '../config/keys.ts';
import type { App } from '../core/app.ts';
import { shortId } from '../core/text/names.ts';
import { visible } from '../core/text/terminal.ts';
import { lastListing } from '../models/listing.ts';
import { ALIASES, MODELS } from '../models/table.ts';
import { listSessions } from '../session/find.ts';
import type { Candidate } from './complete-names.ts';

/** What a completion script asks for: `models`, `sessions`, `servers`, `keys`, `templates`, or `tools` and of which server. */
interface CompleteOptions {
  readonly args: readonly string[];
}

/** Beyond this nobody reads the list. */
const MOST = 500;
const LONGEST_ABOUT = 60;

/**
 * Prints what may stand in a place of the command line, one a line, a tab and what it is behind it. Reads what is on disk, asks
 * nobody, changes nothing. A file that is broken offers nothing: this is no place to complain.
 */
export async function run({ args: [what = '', before = ''] }: CompleteOptions, app: App): Promise<number> {
  const find = Object.hasOwn(FINDERS, what) ? FINDERS[what] : undefined;
  const found = await (find?.(app, before) ?? Promise.resolve([])).catch(() => []);
  // Names come from files that anybody may have written, and no shell can be handed what is not one plain line.
  const usable = found.filter(({ value }) => value !== '' && visible(value) === value).slice(0, MOST);
  const lines = usable.map(({ value, about }) => `${value}\t${[...visible(about)].slice(0, LONGEST_ABOUT).join('')}\n`);
  await app.io.out.write(lines.join(''));
  return 0;
}

type Find = (app: App, before: string) => Promise<readonly Candidate[]>;

const FINDERS: Readonly<Record<string, Find>> = {
  async models(app) {
    const known = MODELS.map(({ id, status, note }) => ({ value: id, about: note ?? status }));
    const aliases = Object.entries(ALIASES)
      .filter(([name]) => !known.some(({ value }) => value === name))
      .map(([name, by]) => ({ value: name, about: `short for ${by['gemini-api']}` }));
    const others = (lastListing(app)?.models ?? [])
      .filter(({ id }) => !known.some(({ value }) => value === id))
      .map(({ id }) => ({ value: id, about: 'listed by the service' }));
    return [...aliases, ...known, ...others];
  },
  async sessions(app) {
    const sessions = listSessions(`${app.homes().gmn}/sessions`).slice(0, MOST);
    const isShort = (id: string): boolean => sessions.filter((other) => other.id.startsWith(shortId(id))).length === 1;
    const found = sessions.map(({ id, name, title }) => {
      const short = isShort(id) ? shortId(id) : id;
      return name === undefined ? { value: short, about: title } : { value: name, about: `${short} ${title}` };
    });
    return found.length === 0 ? [] : [{ value: 'last', about: 'the newest session' }, ...found];
  },
  async servers(app) {
    const { servers = [] } = await app.settings();
    return servers.map(({ name, file }) => ({ value: name, about: file }));
  },
  async keys(app) {
    const { document = {} } = await app.settings();
    const keys = [...settingKeys(), ...leafPaths(document).map(formatKeyPath)];
    return [...new Set(keys)].sort().map((value) => ({ value, about: '' }));
  },
  templates: async (app) => (await import('./complete-names.ts')).templateNames(app),
  tools: async (app, server) => (await import('./complete-names.ts')).toolNames(app, server),
};
