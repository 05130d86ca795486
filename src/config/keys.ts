import { OUTPUT_FORMATS } from '../core/app.ts';
import { AUTH_TYPES } from '../core/credential.ts';
import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import type { PriceOverrides } from '../models/prices.ts';
import { DEFAULT_MODEL } from '../models/table.ts';

interface Kinds {
  readonly string: string;
  readonly boolean: boolean;
  readonly object: JsonObject;
  readonly strings: readonly string[];
  readonly list: readonly JsonValue[];
  readonly oneOrMore: string | readonly string[];
  /** A duration or `never`; see `parseRetention` in session/prune.ts. */
  readonly age: string;
  readonly count: number;
  readonly prices: PriceOverrides;
  readonly share: number;
  /** `true`, the name of an engine, or the object of the official CLI. */
  readonly sandbox: JsonValue;
}

interface SettingRow {
  readonly kind: keyof Kinds;
  /**
   * Whether the settings of a trusted folder may set it. Their author must not decide who pays, who is asked, what runs
   * without approval, or what happens outside of the folder.
   */
  readonly isForFolders: boolean;
  /** Why a folder may set it, or not. */
  readonly why: string;
  /** For docs/configuration.md, whose table is made of these rows. */
  readonly about: string;
  /** gmn knows only these values; another value in a file is a notice, or fails the run. */
  readonly choices?: readonly string[];
  /** Variables that override it; the first one set wins. */
  readonly variables?: readonly string[];
  /** What holds where nothing sets it; absent if that depends, or is nothing. */
  readonly fallback?: JsonValue;
  /** Stands for it in `gmn config`. */
  readonly shortName?: string;
}

/** Only these keys are read and type-checked. */
const KEYS = {
  'model.name': {
    kind: 'string',
    fallback: DEFAULT_MODEL,
    isForFolders: true,
    why: 'a project may work best with one model; -m wins over it',
    about: 'the model, or an alias; see [models](auth-and-models.md#which-model-answers)',
    variables: ['GMN_MODEL', 'GEMINI_MODEL'],
    shortName: 'model',
  },
  'model.compressionThreshold': {
    kind: 'share',
    // The official CLI compresses at 0.5; sending a long conversation again costs less than losing parts of it.
    fallback: 0.7,
    isForFolders: true,
    why: 'it only decides when a long conversation is summarized',
    about:
      "how full the model's window may get before gmn [makes room](tools.md#when-the-window-is-full); 0 and 1 turn that off",
  },
  'security.auth.selectedType': {
    kind: 'string',
    isForFolders: false,
    why: 'it decides which account pays',
    about: 'which credential to use',
    choices: AUTH_TYPES,
    variables: ['GMN_AUTH'],
    shortName: 'auth',
  },
  'security.auth.enforcedType': {
    kind: 'string',
    isForFolders: false,
    why: 'it decides which account pays',
    about: 'the only kind of credential that may be used',
    choices: AUTH_TYPES,
  },
  'security.folderTrust.enabled': {
    kind: 'boolean',
    fallback: true,
    isForFolders: false,
    why: 'a folder cannot make itself trusted',
    about: "`false` trusts every folder's settings (its MCP servers still need `gmn trust`)",
  },
  'security.disableYoloMode': {
    kind: 'boolean',
    fallback: false,
    isForFolders: false,
    why: 'it could allow again what you or the machine forbid',
    about: '`true` refuses `--yolo` and `--approval-mode yolo`, exit 1',
  },
  'oauth.clientId': {
    kind: 'string',
    isForFolders: false,
    why: 'it decides to whom you sign in',
    about: 'an OAuth client of your own; together with `oauth.clientSecret`',
  },
  'oauth.clientSecret': {
    kind: 'string',
    isForFolders: false,
    why: 'it decides to whom you sign in',
    about: 'the secret of `oauth.clientId`; both or neither',
  },
  'mcp.serverCommand': {
    kind: 'string',
    isForFolders: true,
    why: 'it starts only as gmn trust has shown it',
    about: 'one more MCP server, named `mcp`, as a command line',
  },
  'sessions.oneShot': {
    kind: 'boolean',
    fallback: true,
    isForFolders: false,
    why: 'whether conversations are saved is for you to decide',
    about: '`false` saves no one-shots, unless a flag asks for it; see [sessions](sessions.md)',
  },
  'sessions.retention': {
    kind: 'age',
    fallback: '30d',
    isForFolders: false,
    why: 'it would delete the sessions of other folders, too',
    about: 'how long sessions without a name are kept, like `30d` or `12h`; `never` keeps them all',
  },
  'mcp.allowed': {
    kind: 'strings',
    isForFolders: true,
    why: 'it can only leave servers out',
    about: 'the only servers to use',
  },
  'mcp.excluded': {
    kind: 'strings',
    isForFolders: true,
    why: 'it can only leave servers out',
    about: 'servers not to use, whatever else allows them',
  },
  mcpServers: {
    kind: 'object',
    isForFolders: true,
    why: 'each starts only as gmn trust has shown it, and none is trusted to run without approval',
    about: 'MCP servers by name; `gmn trust` shows and approves those of a folder',
  },
  hooks: {
    kind: 'object',
    isForFolders: true,
    why: 'each runs only as gmn trust has shown it',
    about: 'commands that run at certain events, as in the official CLI; see [hooks](extending.md#hooks)',
  },
  'hooksConfig.enabled': {
    kind: 'boolean',
    fallback: true,
    isForFolders: false,
    why: 'it could turn off the hooks with which you guard yourself',
    about: '`false` runs no hooks',
  },
  'hooksConfig.disabled': {
    kind: 'strings',
    isForFolders: false,
    why: 'it could turn off the hooks with which you guard yourself',
    about: 'hooks that are not run, by their name or command',
  },
  'skills.disabled': {
    kind: 'strings',
    isForFolders: false,
    why: 'it is about your own skills, too',
    about: '[skills](extending.md#skills) that are not used',
  },
  'agents.overrides': {
    kind: 'object',
    isForFolders: false,
    why: 'it is about your own agents, too',
    about: '`{"name": {"enabled": false}}` turns off an [agent](extending.md#sub-agents)',
  },
  'extensions.disabled': {
    kind: 'strings',
    isForFolders: false,
    why: 'it could turn off an extension with which you guard yourself',
    about: '[extensions](extending.md#extensions) of the official CLI that gmn does not use',
  },
  'general.defaultApprovalMode': {
    kind: 'string',
    fallback: 'default',
    isForFolders: false,
    why: 'it decides what runs without approval',
    about: 'the approval mode, if no flag sets it; `yolo` is for the command line only, and is ignored here',
    choices: ['default', 'auto_edit', 'plan'],
  },
  'general.enableNotifications': {
    kind: 'boolean',
    isForFolders: false,
    why: 'it is about your terminal',
    about:
      'in a chat, `true`: a notification of the terminal (OSC 9, else the bell) when a turn has ended or asks; `false`: none. Unset: the bell, after more than 20 seconds',
  },
  'general.maxAttempts': {
    kind: 'count',
    fallback: 4,
    isForFolders: false,
    why: 'it decides how often your account is asked',
    about: 'how often a model request is sent, the first time included, if `--retries` is not given; at most 10',
  },
  'tools.allowed': {
    kind: 'strings',
    isForFolders: false,
    why: 'it decides what runs without approval',
    about:
      'what runs without a question: tools, and commands by their first words, like `run_shell_command(git status)`; see [permissions](tools.md#what-lasts)',
  },
  'tools.core': {
    kind: 'strings',
    isForFolders: true,
    why: 'it can only leave tools out',
    about: 'the only built-in tools that `--tools` and chats may offer; see below',
  },
  'tools.exclude': {
    kind: 'strings',
    isForFolders: true,
    why: 'it can only leave tools out',
    about: 'tools that are neither offered nor run, whatever a flag says',
  },
  policyPaths: {
    kind: 'strings',
    isForFolders: false,
    why: 'it could leave out what you deny',
    about: '[policy files](tools.md#policies), or directories with some, instead of `~/.gemini/policies`',
  },
  adminPolicyPaths: {
    kind: 'strings',
    isForFolders: false,
    why: 'it could leave out what you deny',
    about: "the same with the rank of the machine's; without effect where the machine has policies",
  },
  'tools.sandbox': {
    kind: 'sandbox',
    fallback: false,
    isForFolders: false,
    why: 'it could turn off the sandbox that you want',
    about:
      '`true`, or the name of an engine: commands of the model run confined, as with `--sandbox`; see [sandbox](sandbox.md)',
  },
  'context.fileName': {
    kind: 'oneOrMore',
    isForFolders: true,
    why: 'it counts for files in the folder only',
    about: 'context files besides `AGENTS.md` and `GEMINI.md`: names, not paths',
  },
  'output.format': {
    kind: 'string',
    fallback: 'text',
    isForFolders: false,
    why: 'a script must get the format it was written for',
    about: 'the output of prompts, if neither `-o` nor `GMN_OUTPUT_FORMAT` is given',
    choices: OUTPUT_FORMATS,
  },
  'modelConfigs.aliases': {
    kind: 'object',
    isForFolders: false,
    why: 'it decides what the name of a model means',
    about: 'names for `-m` and `model.name`, each a model and how it samples; see below',
  },
  'modelConfigs.customAliases': {
    kind: 'object',
    isForFolders: false,
    why: 'it decides what the name of a model means',
    about: 'the same as `modelConfigs.aliases`, over which it wins',
  },
  'modelConfigs.overrides': {
    kind: 'list',
    isForFolders: false,
    why: 'it could replace the model that you name, and multiply what an answer costs',
    about: 'how a model or an alias samples; see below',
  },
  'modelConfigs.customOverrides': {
    kind: 'list',
    isForFolders: false,
    why: 'it could replace the model that you name, and multiply what an answer costs',
    about: 'the same as `modelConfigs.overrides`, after those',
  },
  'request.store': {
    kind: 'boolean',
    fallback: false,
    isForFolders: false,
    why: 'what Google keeps is for you to decide',
    about:
      '`true` lets Google keep requests and answers in the logs of your project; see [what Google keeps](auth-and-models.md#gemini-api)',
  },
  prices: {
    kind: 'prices',
    isForFolders: false,
    why: 'it could make a model look free to --max-cost',
    about:
      "what models cost, where it differs from gmn's table or is not in it: [prices of your own](cost.md#prices-of-your-own)",
  },
} as const satisfies Readonly<Record<string, SettingRow>>;

type SettingKey = keyof typeof KEYS;
type DefaultKey = {
  [Key in SettingKey]: (typeof KEYS)[Key] extends { readonly fallback: JsonValue } ? Key : never;
}[SettingKey];
export type SettingKind = keyof Kinds;

/** A key whose value a higher layer replaces, never merges. */
export type PlainKey = {
  [Key in SettingKey]: (typeof KEYS)[Key]['kind'] extends 'object' | 'strings' | 'list' | 'oneOrMore' | 'prices'
    ? never
    : Key;
}[SettingKey];

export type SettingValue<Key extends SettingKey> = Kinds[(typeof KEYS)[Key]['kind']];

export const EXPECTED: Readonly<Record<SettingKind, string>> = {
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  strings: 'a list of strings',
  list: 'a list',
  oneOrMore: 'a string or a list of strings',
  age: 'a duration like "30d" or "12h", or "never"',
  count: 'a whole number from 1',
  prices:
    'an object with the prices of models, in dollars per million tokens: "my-model": { "input": 0.3, "output": 2.5 }',
  share: 'a number from 0 to 1',
  sandbox: 'true, false, or the name of a sandbox',
};

const AGE = /^(?:|never|0|\d+(?:\.\d+)?[dw]|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns))+)$/;

export const ROWS: readonly (readonly [key: string, row: SettingRow])[] = Object.entries(KEYS);

const PATHS = ROWS.map(([key, { kind }]) => [key.split('.'), kind] as const);

export function listSettingKeys(): readonly string[] {
  return Object.keys(KEYS);
}

/** `model` → `model.name`; a key that has no short name stays as it is. */
export function expandShortKey(text: string): string {
  return ROWS.find(([, { shortName }]) => shortName === text)?.[0] ?? text;
}

/** Why a folder's settings cannot set a key; undefined for one that they may set, and for one that gmn does not read. */
export function findFolderRefusal(key: string): string | undefined {
  const row = findSettingRow(key);
  return row === undefined || row.isForFolders ? undefined : row.why;
}

export function findSettingRow(key: string): SettingRow | undefined {
  return ROWS.find(([known]) => known === key)?.[1];
}

/** What holds where nothing sets a key of the rows that have a `fallback`. */
export function defaultSetting<Key extends DefaultKey>(key: Key): (typeof KEYS)[Key]['fallback'] {
  return KEYS[key].fallback;
}

/** The document must have passed `findTypeMismatch`. */
export function readSetting<Key extends SettingKey>(document: JsonObject, key: Key): SettingValue<Key> | undefined {
  return findValue(document, key.split('.')) as SettingValue<Key> | undefined;
}

export function findValue(document: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

export function findTypeMismatch(document: JsonObject) {
  for (const [path, kind] of PATHS) {
    let value: JsonValue | undefined = document;
    for (const [depth, key] of path.entries()) {
      if (!isObject(value)) return { path: path.slice(0, depth), expected: EXPECTED.object };
      value = Object.hasOwn(value, key) ? value[key] : undefined;
      if (value === undefined) break;
    }
    if (value !== undefined && !isOfKind(value, kind)) return { path, expected: EXPECTED[kind] };
  }
  return undefined;
}

export function isOfKind(value: JsonValue, kind: SettingKind): boolean {
  if (kind === 'object') return isObject(value);
  if (kind === 'list') return isList(value);
  if (kind === 'strings') return isList(value) && value.every((item) => typeof item === 'string');
  if (kind === 'oneOrMore') return isOfKind(value, 'string') || isOfKind(value, 'strings');
  if (kind === 'age') return typeof value === 'string' && AGE.test(value);
  if (kind === 'prices') return isObject(value) && Object.values(value).every((price) => isPrice(price));
  if (kind === 'count') return Number.isSafeInteger(value) && Number(value) >= 1;
  if (kind === 'sandbox') return ['boolean', 'string'].includes(typeof value) || isObject(value);
  if (kind === 'share') return typeof value === 'number' && value >= 0 && value <= 1;
  return typeof value === kind;
}

const RATES =
  /^(?:input|output|cached|inputAudio|cachedAudio|inputImage|inputVideo|outputAudio|outputImage|outputVideo)$/;

/** Names are checked, too: a misspelt rate would make everything look cheaper. */
function isPrice(value: JsonValue | undefined, isStep = false): boolean {
  if (!isObject(value) || isStep !== 'above' in value) return false;
  return Object.entries(value).every(([key, rate]) => {
    if (key === 'steps' && !isStep) return isList(rate) && rate.every((step) => isPrice(step, true));
    const isKnown = RATES.test(key) || key === (isStep ? 'above' : 'priority');
    return isKnown && typeof rate === 'number' && Number.isFinite(rate) && rate >= 0;
  });
}

const PLAIN = /^[^."\\\s]+$/;

export function tryParseKeyPath(text: string): readonly string[] | undefined {
  const parts: string[] = [];
  const part = /(?:"((?:[^"\\]|\\.)*)"|([^."]+))(\.|$)/y;
  for (let end = '.'; end === '.'; ) {
    const match = part.exec(text);
    if (match === null) return undefined;
    const [, quoted, plain, separator = ''] = match;
    parts.push(plain ?? (quoted ?? '').replace(/\\(.)/gs, '$1'));
    end = separator;
  }
  return parts;
}

export function formatKeyPath(parts: readonly string[]): string {
  return parts.map((part) => (PLAIN.test(part) ? part : `"${part.replace(/["\\]/g, '\\$&')}"`)).join('.');
}
