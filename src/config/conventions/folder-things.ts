import { dirname, join, relative } from 'node:path';
import type { App, Homes } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { toSlashes } from '../../core/text/path.ts';
import { redactCredentials } from '../../core/text/secrets.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { realPath } from '../../platform/files/path.ts';
import { listUserPlaces } from '../context-place.ts';
import { isSecretKey } from '../secrets.ts';
import {
  addServers,
  describeServer,
  listWorkspaceServers,
  readSharedServers,
  type ServerDescription,
  SHARED_SERVERS,
  type WorkspaceServer,
} from '../servers.ts';
import { type FolderCommand, listFolderCommands, listTemplateDirectories } from '../templates.ts';
import type { TrustItem } from '../trust.ts';
import { findVariableNames } from '../variables.ts';
import { listAgentFiles, readFolderAgent } from './agents.ts';
import { type FolderHook, listClaudeFiles, listFolderHooks } from './folder-hooks.ts';
import { ReviewLimits } from './front-matter.ts';
import { readClaudeHooks } from './hooks.ts';
import { listFolderDirectories } from './places.ts';
import { listSkillDirectories, readFolderSkill } from './skills.ts';

/** Something that runs a program or instructs models, as a person is shown it. */
export interface FolderThing extends ServerDescription {
  readonly item: TrustItem;
}

interface ThingContext {
  /** As it was spelled. */
  readonly path: string;
  /** Without links. */
  readonly folder: string;
  readonly document: JsonObject;
  readonly app: Pick<App, 'homes' | 'env' | 'settings'>;
}

/** The MCP servers, hooks, skills, agents and commands that a folder brings. Nothing of it is run; what is faulty is named. */
export async function listFolderThings({ path, folder, document, app }: ThingContext): Promise<{
  readonly things: readonly FolderThing[];
  readonly faults: readonly string[];
}> {
  const faults: string[] = [];
  const readOrName = async <Read>(file: string, read: () => Promise<Read>): Promise<readonly Read[]> => {
    try {
      return [await read()];
    } catch (thrown) {
      faults.push(`${sanitize(relative(path, file))} is not used: ${sanitize(AppError.from(thrown).message)}`);
      return [];
    }
  };
  const isOwn = (directory: string): boolean =>
    listOwnDirectories(app.homes()).includes(realPath(directory) ?? directory);
  const things: FolderThing[] = [
    ...(await listFolderServers(document, path, app.homes().gemini)).map((server) => {
      const { details, ...description } = describeServer(server);
      return {
        ...description,
        details: details.concat(warnOfCredentials(server.definition, app.env)),
        item: { kind: 'servers' as const, name: server.name, hash: server.hash },
      };
    }),
  ];
  const files = listClaudeFiles(path, app.homes());
  for (const file of [undefined, ...files]) {
    const [read] =
      file === undefined ? [document] : await readOrName(file, async () => ({ hooks: readClaudeHooks(file) }));
    const found = await listFolderHooks(read ?? {}, folder);
    // Two files can have a hook of the same name.
    const prefix = file === undefined ? '' : `${toSlashes(relative(path, file))} `;
    for (const { fault, ...hook } of found.hooks) {
      const name = `${prefix}${hook.name}`;
      if (fault !== undefined) faults.push(sanitize(`hook ${name} is not used: ${fault}`));
      else things.push({ ...describeHook({ ...hook, name }), item: { kind: 'hooks', name, hash: hook.hash } });
    }
    for (const { name, why } of found.faults) faults.push(sanitize(`hook ${prefix}${name} is not used: ${why}`));
  }
  const limits = new ReviewLimits();
  for (const place of listFolderDirectories('skills', path).filter((directory) => !isOwn(directory))) {
    for (const directory of await listSkillDirectories(place))
      for (const skill of await readOrName(directory, () => readFolderSkill(directory, folder, limits)))
        things.push({ ...describeSkill(skill), item: skill.item });
  }
  for (const place of listFolderDirectories('agents', path).filter((directory) => !isOwn(directory))) {
    for (const file of await listAgentFiles(place))
      for (const agent of await readOrName(file, () => readFolderAgent(file, folder, limits)))
        things.push({ ...describeFolderAgent(agent), item: agent.item });
  }
  const commands = (await listTemplateDirectories({ ...app, cwd: path })).filter(({ scope }) => scope === 'workspace');
  for (const command of await listFolderCommands(commands, folder))
    things.push({ ...describeCommand(command), item: takeItem(command) });
  return { things, faults };
}

function takeItem({ kind, name, hash }: TrustItem): TrustItem {
  return { kind, name, hash };
}

/** In the home directory, what a folder brings is the user's own. */
function listOwnDirectories({ gemini }: Homes): readonly string[] {
  return (['skills', 'agents'] as const).flatMap((kind) =>
    listUserPlaces(kind, gemini).flatMap((directory) => realPath(directory) ?? []),
  );
}

/** Of its settings and of `.mcp.json`, over which the settings win. */
async function listFolderServers(
  document: JsonObject,
  path: string,
  home: string,
): Promise<readonly WorkspaceServer[]> {
  const shared = realPath(path) === realPath(dirname(home)) ? {} : await readSharedServers(join(path, SHARED_SERVERS));
  return listWorkspaceServers(addServers(document, shared));
}

/** Names the variables with credentials that a server is given: by their names, or by what they hold now. */
function warnOfCredentials(definition: JsonValue, env: Env): readonly string[] {
  if (!isObject(definition)) return [];
  const { command, args, ...others } = definition as JsonObject;
  const holdsCredential = (name: string): boolean => redactCredentials(env[name] ?? '', '') !== (env[name] ?? '');
  const names = [
    // With such a name they are not filled in there.
    ...findVariableNames(JSON.stringify([command, args])).filter((name) => !isSecretKey(name) && holdsCredential(name)),
    ...findVariableNames(JSON.stringify(others)).filter((name) => isSecretKey(name) || holdsCredential(name)),
  ];
  if (names.length === 0) return [];
  const list = [...new Set(names)].map(sanitize).join(', ');
  return [`warning: it is given ${list}: its program or host can use the credential`];
}

function describeHook({ name, command, matcher, scripts }: FolderHook): ServerDescription {
  const details = [
    ...(matcher === undefined ? [] : [`matcher: ${matcher}`]),
    scripts.length === 0 ? 'not compared: no file of the folder is found in it' : `its files: ${scripts.join(', ')}`,
  ];
  return {
    name: sanitize(name),
    commandLine: sanitize(command),
    words: sanitize(command).split(' '),
    details: details.map(sanitize),
  };
}

function describeSkill({ item, files, skill }: Awaited<ReturnType<typeof readFolderSkill>>): ServerDescription {
  return describeText(item.name, skill.description, files > 1 ? [`${files} files`] : []);
}

function describeFolderAgent({ item, agent }: Awaited<ReturnType<typeof readFolderAgent>>): ServerDescription {
  const { description, tools, model } = agent;
  return describeText(item.name, description, [
    ...(tools === undefined ? [] : [`tools: ${tools.join(', ')}`]),
    ...(model === undefined ? [] : [`model: ${model}`]),
  ]);
}

function describeCommand({ name, lines }: FolderCommand): ServerDescription {
  return describeText(name, lines.length === 0 ? 'a prompt' : 'a prompt that runs:', lines);
}

function describeText(name: string, text: string, details: readonly string[]): ServerDescription {
  const line = sanitize(text.replace(/\s+/g, ' '));
  return { name: sanitize(name), commandLine: line, words: line.split(' '), details: details.map(sanitize) };
}
