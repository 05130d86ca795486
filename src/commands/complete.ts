import { join, resolve } from 'node:path';
import type { FoundTemplate } from '../config/templates.ts';
import type { App } from '../core/app.ts';
import type { Candidate } from '../core/flag.ts';
import { shortenId } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import { isDirectory } from '../platform/files/path.ts';

interface CompleteOptions {
  readonly list: string;
  /** The server whose tools are listed, or the words that end with the mention to complete. */
  readonly before: string;
  readonly format: (found: readonly Candidate[]) => string;
}

const MAX_CANDIDATES = 500;
const MAX_ABOUT = 60;

/**
 * Prints the completions of a list. Reads files only, sends nothing, changes nothing. An unreadable file gives no
 * completions: an error here would disturb the command line.
 */
export async function run({ list, before, format }: CompleteOptions, app: App): Promise<number> {
  const find = Object.hasOwn(FINDERS, list) ? FINDERS[list] : undefined;
  const found = await (find?.(app, before) ?? Promise.resolve([])).catch(() => []);
  // Names come from files anyone may have written, and a shell script can handle only plain single-line values.
  const usable = found.filter(({ value }) => value !== '' && sanitize(value) === value).slice(0, MAX_CANDIDATES);
  const short = usable.map(({ value, about }) => ({ value, about: [...sanitize(about)].slice(0, MAX_ABOUT).join('') }));
  await app.io.out.write(format(short));
  return 0;
}

type Find = (app: App, before: string) => Promise<readonly Candidate[]>;

/** A person waits for a Tab: each loads only what its own list needs. */
const FINDERS: Readonly<Record<string, Find>> = {
  async models(app) {
    const [{ ALIASES, MODELS }, { readListing }] = await Promise.all([
      import('../models/table.ts'),
      import('../models/listing.ts'),
    ]);
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
    const { listSessions } = await import('../session/find.ts');
    const sessions = listSessions(join(app.homes().gmn, 'sessions')).slice(0, MAX_CANDIDATES);
    const ids = shortenIds(sessions.map(({ id }) => id));
    const found = sessions.map(({ name, title }, index) => {
      const short = ids[index] ?? '';
      return name === undefined ? { value: short, about: title } : { value: name, about: `${short} ${title}` };
    });
    return found.length === 0 ? [] : [{ value: 'last', about: 'the newest session' }, ...found];
  },
  async jobs(app) {
    const [{ createJobStore }, { recordDirectory }] = await Promise.all([
      import('../jobs/store.ts'),
      import('../platform/files/records.ts'),
    ]);
    // A list of jobs notes down those whose process has died; a Tab does not.
    const files = { ...recordDirectory(join(app.homes().gmn, 'jobs')), append: async () => {} };
    const jobs = await createJobStore(files, app.clock).list();
    const ids = shortenIds(jobs.map(({ job_id }) => job_id));
    return jobs.map(({ status, title = '' }, index) => ({ value: ids[index] ?? '', about: `${status} ${title}` }));
  },
  async servers(app) {
    const { servers = [] } = await app.settings();
    return servers.map(({ name, file }) => ({ value: name, about: file }));
  },
  async keys(app) {
    const [{ listLeafPaths }, { formatKeyPath, listSettingKeys }] = await Promise.all([
      import('../config/explanation.ts'),
      import('../config/keys.ts'),
    ]);
    const { document = {} } = await app.settings();
    const keys = [...listSettingKeys(), ...listLeafPaths(document).map(formatKeyPath)];
    return [...new Set(keys)].sort().map((value) => ({ value, about: '' }));
  },
  async templates(app) {
    const { findTemplates, listTemplateDirectories, readTemplate } = await import('../config/templates.ts');
    const describe = async (template: FoundTemplate): Promise<string> => {
      const read = await readTemplate(template).catch(() => undefined);
      return read?.description ?? '';
    };
    const found = await findTemplates(await listTemplateDirectories(app));
    const usable = found.filter(({ place }) => place.ignored === undefined);
    return Promise.all(usable.map(async (template) => ({ value: template.name, about: await describe(template) })));
  },
  async skills(app) {
    const { findSkills } = await import('../config/conventions/skills.ts');
    const { skills } = await findSkills({ ...app, settings: await app.settings() });
    return skills.map(({ name, description }) => ({ value: name, about: description }));
  },
  /** Reads the cached tool list; starts nothing. */
  async tools(app, server) {
    const [{ readRoster }, { readToolList }] = await Promise.all([
      import('../engine/tools/servers/roster.ts'),
      import('../mcp/client/tools/cache.ts'),
    ]);
    const { entries } = await readRoster({}, app);
    const state = entries.find(({ name }) => name === server)?.state;
    const toolList = state?.kind === 'ready' ? readToolList(state.server, app) : undefined;
    return (toolList?.tools ?? []).map(({ name, description = '' }) => ({ value: name, about: description }));
  },
  /** Each is all of the words before; one directory alone is listed with what is in it, so that the shell goes on behind its slash. */
  async mentions({ cwd }, words) {
    const [, before = '', typed = ''] = /^((?:[\s\S]*\s)?@)((?:\\[\s\S]|[^\s\\])*)$/.exec(words) ?? [];
    const path = typed.replace(/\\(\s)/g, '$1');
    const found = await listPathsBeginning(cwd, path);
    const [only] = found;
    const inside = found.length === 1 && only?.endsWith('/') ? await listPathsBeginning(cwd, only) : [];
    return [...found, ...inside].map((name) => ({ value: `${before}${name.replace(/\s/g, '\\$&')}`, about: '' }));
  },
};

/** Only as far as it still tells one from the others. */
function shortenIds(ids: readonly string[]): readonly string[] {
  return ids.map((id) => (ids.filter((other) => other.startsWith(shortenId(id))).length === 1 ? shortenId(id) : id));
}

/** The paths that begin like this one; a directory ends with a slash. Hidden ones only if a dot is typed. */
async function listPathsBeginning(cwd: string, path: string): Promise<readonly string[]> {
  const { readDirectory } = await import('../platform/files/read.ts');
  const start = path.lastIndexOf('/') + 1;
  const [directory, beginning] = [path.slice(0, start), path.slice(start)];
  const entries = await readDirectory(resolve(cwd, directory));
  return entries
    .filter(({ name }) => name.startsWith(beginning) && (beginning.startsWith('.') || !name.startsWith('.')))
    .map(({ name }) => `${directory}${name}${isDirectory(resolve(cwd, directory, name)) ? '/' : ''}`)
    .sort();
}
