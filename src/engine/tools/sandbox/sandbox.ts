import { join } from 'node:path';
import { readSetting } from '../../../config/keys.ts';
import type { App } from '../../../core/app.ts';
import { loadOnce } from '../../../core/async.ts';
import type { Confine } from '../../../core/confine.ts';
import { ENGINE_NAMES, type EngineName } from '../../../core/confine.ts';
import { AppError } from '../../../core/error.ts';
import { isList, isObject, type JsonValue } from '../../../core/json.ts';
import { splitList } from '../../../core/text/names.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { entryExists } from '../../../platform/files/path.ts';
import { readCache, writeCache } from '../../../platform/files/small-file.ts';
import { createScratchDirectory } from '../../../platform/process/self.ts';
import { chooseEngine, type EngineContext, type SandboxEngine } from '../../../platform/sandbox/engine.ts';
import { type HostProxy, openHostProxy } from '../../../platform/sandbox/host-proxy.ts';
import { formatHostRules, type HostRule, parseHostRules } from '../../../platform/sandbox/host-rules.ts';
import type { SandboxNetwork } from '../../../platform/sandbox/profile.ts';
import { createStubs } from '../../../platform/sandbox/stubs.ts';
import { createProfileReader } from './sandbox-profile.ts';
import { startWatch, type Watch } from './sandbox-watch.ts';
import { openWatcher } from './watched.ts';

/** How the commands of a run are confined. */
export interface SandboxOptions {
  /** The name of an engine, `auto` or `off`. Default: `tools.sandbox` of the settings. */
  readonly sandbox?: string;
  /** Hosts, or `all`. Default: no network. */
  readonly sandboxNet?: string;
  /** Asks about commands in `auto_edit`, although they are confined. */
  readonly sandboxAsk?: boolean;
}

/** A place in which the commands of a run are confined. */
export interface Sandbox {
  readonly engine: EngineName;
  /** Confines a program; throws AppError `config`. Everything that the model or a folder brings is started through this. */
  readonly confine: Confine;
  /** `bwrap, no network` */
  readonly summary: string;
  /** What commands may do, in one sentence for the model. */
  readonly rules: string;
  /** Whether it seems that the sandbox refused something to a command that failed: one sentence for the model, else undefined. */
  explain(output: string): string | undefined;
  /** What changed since this was last asked, and instructs models or is run by other programs: a notice for the person, else undefined. */
  reportMade(): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface SandboxParts {
  readonly app: App;
  readonly roots: readonly string[];
}

/** The sandbox of a run, opened when something needs it: a run in which nothing can run a command needs none. */
export interface RunSandbox {
  readonly opened: Sandbox | undefined;
  /** Throws AppError `config` if no engine works; then nothing may be run. */
  open(): Promise<Sandbox>;
  close(): Promise<void>;
}

/** Undefined if neither the flag nor the settings ask for one. Throws AppError `config` for one that gmn has not. */
export async function prepareSandbox(options: SandboxOptions, parts: SandboxParts): Promise<RunSandbox | undefined> {
  const wanted = await findWantedEngine(options, parts.app);
  if (wanted === undefined) return undefined;
  let opened: Sandbox | undefined;
  const open = loadOnce(async () => {
    opened = await openSandbox(wanted, options, parts);
    return opened;
  });
  return {
    get opened() {
      return opened;
    },
    open,
    close: async () => opened?.close(),
  };
}

/** What `tools.sandbox` and `--sandbox` may say besides the name of an engine. */
const OTHER_NAMES: Readonly<Record<string, EngineName | 'auto' | undefined>> = {
  ...{ auto: 'auto', true: 'auto', off: undefined, false: undefined, 'sandbox-exec': 'seatbelt' },
};

/** The engine that the flag asks for, else the settings; undefined: none. Throws AppError `config` for one that gmn has not. */
export async function findWantedEngine(
  { sandbox }: Pick<SandboxOptions, 'sandbox'>,
  app: Pick<App, 'settings'>,
): Promise<EngineName | 'auto' | undefined> {
  if (sandbox !== undefined) return toEngineName(sandbox, '--sandbox');
  const { document = {} } = await app.settings();
  const setting = readSetting(document, 'tools.sandbox');
  return setting === undefined ? undefined : toEngineName(toWord(setting), 'tools.sandbox');
}

/** The official CLI also has an object here, with whether it is on, and by what. */
function toWord(setting: JsonValue): string {
  if (!isObject(setting)) return String(setting);
  if (setting.enabled === false) return 'off';
  return isList(setting.command) || setting.command === undefined ? 'auto' : String(setting.command);
}

function toEngineName(word: string, where: string): EngineName | 'auto' | undefined {
  const known = ENGINE_NAMES.find((name) => name === word);
  if (known !== undefined) return known;
  if (Object.hasOwn(OTHER_NAMES, word)) return OTHER_NAMES[word];
  throw new AppError('config', `${where}: gmn has no sandbox ${sanitize(word)}`, {
    hint: `Choose one of: auto, ${ENGINE_NAMES.join(', ')}, off`,
  });
}

/** Throws AppError `config` if no engine works, `usage` for hosts that are none; nothing is run then. */
export async function openSandbox(
  wanted: EngineName | 'auto',
  { sandboxNet }: Pick<SandboxOptions, 'sandboxNet'>,
  { app, roots }: SandboxParts,
): Promise<Sandbox> {
  const rules = sandboxNet === undefined || sandboxNet === 'all' ? undefined : parseHostRules(splitList([sandboxNet]));
  const engine = await chooseEngine(wanted, createEngineContext(app, roots));
  const scratch =
    rules !== undefined || !engine.hasNamespaces ? await createScratchDirectory('gmn-sandbox-') : undefined;
  const forget = scratch && app.onExit(scratch.removeNow);
  const directory = scratch?.path ?? '';
  let proxy: HostProxy | undefined;
  let forgetStubs: (() => unknown) | undefined;
  const close = loadOnce(async () => {
    forgetStubs?.();
    await proxy?.close();
    await scratch?.remove();
    forget?.();
  });
  try {
    if (rules !== undefined) proxy = await openProxy(rules, engine, directory);
    const network = toNetwork(sandboxNet, proxy, directory);
    const temporary = engine.hasNamespaces || scratch === undefined ? [] : [scratch.path];
    let missing: readonly string[] = [];
    const listWatched = () => [...watcher.list().entries, ...missing.map((path) => ({ path, isOpen: false }))];
    const readProfile = createProfileReader({ app, roots: [...roots, ...temporary], network, listWatched });
    const watcher = await openWatcher({ app, roots });
    const stubs = createStubs(join(app.homes().gmn, 'sandbox'), watcher.roots);
    const ignoreExit = app.onExit(stubs.close);
    // A command may still run, which keeps them until it ends.
    forgetStubs = () => stubs.isHeld() || ignoreExit();
    // Whoever opens it learns at once if the engine or the directory cannot be used so.
    const profile = readProfile();
    // Names that another process keeps may be gone in a moment.
    const probed = { ...profile, protected: [], pinned: [] };
    engine.confine(probed, { command: 'true', args: [], cwd: app.cwd, env: {} }, directory);
    const { writable } = profile;
    const allowed = describeRules(writable, rules, sandboxNet);
    let watch: Watch | undefined;
    const confine: Confine = (start) => {
      const onEnd = stubs.hold(() => {
        missing = watcher.roots.flatMap((root) => listMissing(root, stubs.list));
        return missing;
      });
      try {
        watch ??= startWatch(watcher, stubs.list);
        return { ...engine.confine(readProfile(), start, directory), onEnd };
      } catch (thrown) {
        onEnd();
        throw thrown;
      }
    };
    return {
      engine: engine.name,
      confine,
      summary: `${engine.name}, ${describeReach(rules, sandboxNet)}`,
      rules: allowed,
      reportMade: async () => watch?.report(),
      explain: (output) =>
        explainBySandbox(output, proxy?.takeRefused() ?? [], { rules: allowed, network: network.kind }),
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** What programs of the user run, or agents follow, as soon as it is there. What else is protected is reported if it is made. */
const KEPT_NAMES = [
  ...[
    '.agents',
    '.circleci',
    '.claude',
    '.clinerules',
    '.codex',
    '.cursor',
    '.devcontainer',
    '.envrc',
    '.gemini',
    '.git',
  ],
  ...[
    '.github/workflows',
    '.gmn',
    '.hg',
    '.husky',
    '.idea',
    '.jj',
    '.junie',
    '.kiro',
    '.mcp.json',
    '.opencode',
    '.qwen',
  ],
  ...['.roo', '.vscode', '.windsurf', '.zed'],
];

/** Of these, the first step that is not there, or only as a stub. */
function listMissing(root: string, listStubs: () => readonly string[]): readonly string[] {
  const names = KEPT_NAMES.map((name) =>
    name.split('/').map((_, index, all) => {
      const path = join(root, ...all.slice(0, index + 1));
      return { path, isThere: entryExists(path) };
    }),
  );
  // Other processes write down a stub before they make it: so whatever was there is known by now.
  const stubs = listStubs();
  return names.flatMap((steps) => steps.find(({ path, isThere }) => !isThere || stubs.includes(path))?.path ?? []);
}

export function createEngineContext(app: App, roots: readonly string[]): EngineContext {
  const path = join(app.homes().gmn, 'sandbox.json');
  const parse = (value: unknown): readonly string[] | undefined =>
    Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined;
  return {
    ...{ env: app.env, roots, image: app.env.GMN_SANDBOX_IMAGE },
    cache: {
      has: (key) => readCache(path, parse)?.includes(key) ?? false,
      add: (key) => writeCache(path, [...(readCache(path, parse) ?? []).slice(-9), key]),
    },
  };
}

function openProxy(rules: readonly HostRule[], engine: SandboxEngine, directory: string): Promise<HostProxy> {
  return openHostProxy({ rules, listensOn: engine.hasNamespaces ? toSocket(directory) : 0 });
}

function toSocket(directory: string): string {
  return join(directory, 'proxy.sock');
}

function toNetwork(wanted: string | undefined, proxy: HostProxy | undefined, directory: string): SandboxNetwork {
  if (proxy !== undefined) return { kind: 'proxy', socket: toSocket(directory), port: proxy.port };
  return { kind: wanted === 'all' ? 'all' : 'none' };
}

function describeReach(hosts: readonly HostRule[] | undefined, net: string | undefined): string {
  if (hosts !== undefined) return `only these hosts: ${formatHostRules(hosts)}`;
  return net === 'all' ? 'all of the network' : 'no network';
}

function describeRules(
  writable: readonly string[],
  hosts: readonly HostRule[] | undefined,
  net: string | undefined,
): string {
  const reach = describeReach(hosts, net);
  const network = hosts === undefined ? `they have ${reach}` : `they reach ${reach}, through HTTPS_PROXY`;
  return `Commands run in a sandbox: they may write below ${writable.map(sanitize).join(', ')} only, but not to .git, settings of programs and instructions there (some of these names look like empty directories); home is empty but for toolchains; /tmp is new for each command; ${network}.`;
}

/** How programs report that they may not do something with a file or a process. */
const REFUSALS =
  /read-only file system|operation not permitted|permission denied|device or resource busy|\bE(?:ROFS|PERM|ACCES|BUSY)\b/i;

/** How programs report that they reach nothing: a name that is not resolved, or a server that does not answer. */
const UNREACHED =
  /\bE(?:CONNREFUSED|HOSTUNREACH|NETUNREACH|NETDOWN|ADDRNOTAVAIL|AI_AGAIN|AI_NONAME|NOTFOUND)\b|connection refused|actively refused|network is (?:unreachable|down)|no route to host|could not resolve|unable to resolve|failed to (?:lookup|resolve)|name resolution|name does not resolve|name or service not known|nodename nor servname|no such host|unknown ?host|tunnel failed/i;

function explainBySandbox(
  output: string,
  refused: readonly string[],
  { rules, network }: { readonly rules: string; readonly network: SandboxNetwork['kind'] },
): string | undefined {
  if (refused.length > 0) return `The sandbox refused connections to ${refused.map(sanitize).join(', ')}. ${rules}`;
  if (network !== 'all' && UNREACHED.test(output))
    return `This may be the sandbox, not the server: from inside, localhost and all other addresses of this machine are empty but for what the same command starts, and ${network === 'none' ? 'there is no network' : 'other hosts are reached through HTTPS_PROXY only'}. Do not conclude that a server is down. ${rules}`;
  return REFUSALS.test(output) ? `This may be the sandbox. ${rules}` : undefined;
}
