import { listLeafPaths } from '../config/explanation.ts';
import { formatKeyPath, listSettingKeys } from '../config/keys.ts';
import type { App } from '../core/app.ts';
import { shortenId } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { readListing } from '../models/listing.ts';
import { ALIASES, MODELS } from '../models/table.ts';
import { listSessions } from '../session/find.ts';
import type { Candidate } from './complete-names.ts';

/**
 * The first argument is the kind: `models`, `sessions`, `servers`, `keys`, `templates`, or `tools` followed by the
 * server.
 */
interface CompleteOptions {
  readonly args: readonly string[];
}

const MAX_CANDIDATES = 500;
const MAX_ABOUT = 60;

/**
 * Prints completions, one per line: value, tab, description. Reads files only, sends nothing, changes nothing. An
 * unreadable file gives no completions: an error here would disturb the command line.
 */
export async function run({ args: [what = '', before = ''] }: CompleteOptions, app: App): Promise<number> {
  const find = Object.hasOwn(FINDERS, what) ? FINDERS[what] : undefined;
  const found = await (find?.(app, before) ?? Promise.resolve([])).catch(() => []);
  // Names come from files anyone may have written, and a shell script can handle only plain single-line values.
  const usable = found.filter(({ value }) => value !== '' && sanitize(value) === value).slice(0, MAX_CANDIDATES);
  const lines = usable.map(({ value, about }) => `${value}\t${[...sanitize(about)].slice(0, MAX_ABOUT).join('')}\n`);
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
    const others = (readListing(app)?.models ?? [])
      .filter(({ id }) => !known.some(({ value }) => value === id))
      .map(({ id }) => ({ value: id, about: 'listed by the service' }));
    return [...aliases, ...known, ...others];
  },
  async sessions(app) {
    const sessions = listSessions(`${app.homes().gmn}/sessions`).slice(0, MAX_CANDIDATES);
    const isShort = (id: string): boolean =>
      sessions.filter((other) => other.id.startsWith(shortenId(id))).length === 1;
    const found = sessions.map(({ id, name, title }) => {
      const short = isShort(id) ? shortenId(id) : id;
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
    const keys = [...listSettingKeys(), ...listLeafPaths(document).map(formatKeyPath)];
    return [...new Set(keys)].sort().map((value) => ({ value, about: '' }));
  },
  templates: async (app) => (await import('./complete-names.ts')).listTemplates(app),
  tools: async (app, server) => (await import('./complete-names.ts')).listTools(app, server),
};
