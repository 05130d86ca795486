import { DECISION_EXITS } from '../core/decision-plan.ts';
import { FAULTS, type Fault } from '../core/error.ts';
import type { Flag } from '../core/flag.ts';
import { formatColumns, formatFlagSections, TOPICS, type Topic } from './help.ts';
import type { Command } from './table/command.ts';
import { TEXTS } from './topic-texts.ts';

export function topicPage(topic: Topic, root: Command): string {
  const command = root.subcommands?.find(({ name }) => name === topic);
  return [
    `${TOPICS[topic]}\n`,
    formatBody(topic, root),
    ...(command?.subcommands === undefined ? [] : [formatSubcommands(command)]),
  ].join('\n');
}

function formatBody(topic: Topic, root: Command): string {
  if (topic === 'env') return formatEnvironment(root);
  if (topic === 'flags') {
    return [...formatFlagSections(root), 'Commands have flags of their own: gmn <command> --help\n'].join('\n');
  }
  return topic === 'exit-codes' ? formatExitCodes() : TEXTS[topic];
}

function formatSubcommands({ name, subcommands = [] }: Command): string {
  const rows = subcommands.map((child) => [`gmn ${name} ${child.name}`, child.summary] as const);
  return `Commands (gmn ${name} <command> --help for their flags):\n${formatColumns(rows)}`;
}

/** Names, and where they have them defaults, in the same order, with commas. */
type Row = readonly [names: string, meaning: string, defaults?: string];

interface Variable {
  readonly names: readonly string[];
  readonly meaning: string;
  readonly defaults?: readonly string[];
  /** The flag whose default it is. */
  readonly flag?: string;
}

const CREDENTIALS: readonly Row[] = [
  ['GEMINI_API_KEY', 'a key of the Gemini API'],
  ['GMN_AUTH, GEMINI_DEFAULT_AUTH_TYPE', 'which credential to use'],
  ['GOOGLE_GENAI_USE_GCA', 'true: the Google sign-in'],
  ['GOOGLE_CLOUD_ACCESS_TOKEN', 'with GOOGLE_GENAI_USE_GCA: this token, as it is'],
  ['GOOGLE_GENAI_USE_ENTERPRISE, GOOGLE_GENAI_USE_VERTEXAI', 'true: Vertex AI'],
  ['GOOGLE_API_KEY', 'a key of Vertex AI'],
  ['GOOGLE_APPLICATION_CREDENTIALS', 'application default credentials, for Vertex AI'],
  ['GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_PROJECT_ID', 'the project'],
  ['GOOGLE_CLOUD_LOCATION', 'the location'],
  ['GOOGLE_CLOUD_QUOTA_PROJECT', 'the project that pays'],
  ['CLOUD_SHELL, GEMINI_CLI_USE_COMPUTE_ADC', 'true: the credentials of the machine'],
  ['GEMINI_API_KEY_AUTH_MECHANISM', 'bearer: also send the key as a bearer token'],
  ['GEMINI_FORCE_FILE_STORAGE', 'true: no Keychain'],
  ['GEMINI_FORCE_ENCRYPTED_FILE_STORAGE', "true: the official CLI's encrypted file"],
  ['GMN_OAUTH_CLIENT_ID, GMN_OAUTH_CLIENT_SECRET', 'an OAuth client of your own'],
  ['GCE_METADATA_HOST, GCE_METADATA_IP, METADATA_SERVER_DETECTION', "where a cloud machine's credentials are"],
];

const LOCATIONS: readonly Row[] = [
  ['GMN_HOME', "gmn's files", '~/.gmn'],
  ['GMN_SANDBOX_IMAGE', 'the image of --sandbox docker and podman'],
  ['GEMINI_CLI_HOME', 'the directory that holds .gemini'],
  ['GEMINI_CLI_SYSTEM_SETTINGS_PATH, GEMINI_CLI_SYSTEM_DEFAULTS_PATH', "the machine's settings"],
  ['GEMINI_CLI_TRUSTED_FOLDERS_PATH', 'the list of trusted folders'],
  ['GEMINI_CLI_TRUST_WORKSPACE', 'true or false: trust this folder'],
  ['GEMINI_RESTRICTED_MODE', 'true: trust no folder'],
  ['GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL', 'other servers: https, or http on this machine'],
  ['CODE_ASSIST_ENDPOINT, GMN_OAUTH_TOKEN_URL', 'other servers for the Google sign-in, likewise'],
  ['GOOGLE_GENAI_API_VERSION, CODE_ASSIST_API_VERSION', 'the API version in the address of the server'],
  ['HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY', 'the proxy, and hosts that need none'],
];

const RUN: readonly Row[] = [
  ['GEMINI_MODEL', 'the model, where GMN_MODEL is not set'],
  ['GEMINI_SYSTEM_MD', 'a file in place of the system instruction'],
  ['GMN_STDIN_WAIT', 'how long to wait for the first byte of stdin', '10s'],
  ['GMN_CONNECT_TIMEOUT, GMN_HEADERS_TIMEOUT, GMN_IDLE_TIMEOUT', 'how long a request may be silent', '10s, 60s, 120s'],
  ['GMN_RETRY_DELAY', 'the first pause before trying again', '1s'],
  ['GMN_RECORD', 'a file to which the exchanges with the service are added (gmn help demo)'],
  ['GMN_RECORD_HOME', 'with GMN_RECORD or --replay: the context files of your home count, too'],
  ['NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, TERM', 'colour'],
  ['GMN_MCP_TOKEN', 'the token that clients of gmn mcp serve --http need'],
  ['VISUAL, EDITOR', 'your editor'],
  ['GMN_PAGER', 'the pager of every answer on a terminal, as with --pager'],
  ['PAGER', 'the pager of --pager, and of long questions'],
];

function formatEnvironment(root: Command): string {
  return [
    ...listEnvironment(root).map(([title, variables]) => `${title}:\n${formatColumns(variables.map(formatVariable))}`),
    'Variables also come from ~/.gemini/.env and ~/.gmn/.env, except servers, proxies\nand the places of files; never from a .env of a project.\n',
  ].join('\n');
}

export function formatVariable({ names, meaning, defaults }: Variable): readonly [names: string, meaning: string] {
  return [names.join(', '), defaults === undefined ? meaning : `${meaning} (${defaults.join(', ')})`];
}

export function listEnvironment(root: Command): readonly (readonly [title: string, rows: readonly Variable[]])[] {
  const flags = [...new Map(collectEnvFlags(root).map((flag) => [flag.env, flag])).values()];
  const ofFlags = flags.map(({ env = '', long }): Variable => {
    return { names: [env], meaning: `the default of --${long}`, flag: `--${long}` };
  });
  return [
    ['Credentials', CREDENTIALS.map(toVariable)],
    ['Files and servers', LOCATIONS.map(toVariable)],
    ['Flags', ofFlags],
    ['A run', RUN.map(toVariable)],
  ];
}

function toVariable([names, meaning, defaults]: Row): Variable {
  return { names: names.split(', '), meaning, defaults: defaults?.split(', ') };
}

function collectEnvFlags({ flags, subcommands = [] }: Command): readonly Flag[] {
  return [...flags.filter(({ env }) => env !== undefined), ...subcommands.flatMap(collectEnvFlags)];
}

/** A missing fault does not compile. */
const MEANINGS: Readonly<Record<Fault, string>> = {
  pipe: 'the reader closed the output (| head)',
  internal: 'a bug in gmn, or the output could not be written',
  usage: 'a wrong flag, no prompt, a file that is missing',
  limit: "one of gmn's own limits, such as --max-turns",
  verify: 'the command of --verify still fails, or a hook rejects the last answer',
  auth: 'no credential, or it was refused',
  api: 'HTTP, network, quota, timeout, blocked, cut short',
  config: 'a settings file or a variable that cannot be used',
  mcp: 'an MCP server failed',
  hangup: 'SIGHUP: the terminal went away',
  interrupted: 'SIGINT: Ctrl+C',
  terminated: 'SIGTERM',
};

function formatExitCodes(): string {
  const rows = listExitCodes().map(formatExitCode);
  const padded = rows.map(
    ([code, meaning]) => [code.replace(/^\d+/, (digits) => digits.padStart(3)), meaning] as const,
  );
  return `${formatColumns(padded)}
In the JSON formats error.code is the same number and error.type the name.

From the official CLI: its 41 is 2 here, 42 is 1, 52 is 4, 53 is 1, 54 is 1; an
API error, there the HTTP status modulo 256, is always 3.

  gmn "hello" -o json | jq -r '.response // error(.error.message)'
  gmn "hello" || case $? in 2) gmn auth status ;; 3) echo "try later" ;; esac
`;
}

interface ExitCode {
  readonly code: number;
  /** `error.type` in the JSON formats; absent if nothing failed. */
  readonly type?: string;
  readonly meaning: string;
}

export function listExitCodes(): readonly ExitCode[] {
  const faults = Object.keys(MEANINGS) as Fault[];
  return [
    { code: 0, meaning: 'the model answered; with gmn decide --exit-code: yes' },
    { code: DECISION_EXITS.no, meaning: 'gmn decide --exit-code: no' },
    { code: DECISION_EXITS.unsure, meaning: 'gmn decide --exit-code: unsure' },
    ...faults.map((fault) => ({
      code: FAULTS[fault].exitCode,
      type: FAULTS[fault].type,
      meaning: MEANINGS[fault],
    })),
  ];
}

export function formatExitCode({ code, type, meaning }: ExitCode): readonly [code: string, meaning: string] {
  return [type === undefined ? `${code}` : `${code}  ${type}`, meaning];
}
