// Writes every list of the tools from their objects in src/tools/: the list itself, what the command line knows of them, and the
// tables of docs/tools.md. With --check, fails if one is not up to date.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decideCall, TOOL_SOURCES } from './description.mjs';
import { fillIn, importSources, update } from './generated.mjs';
import { root } from './project.mjs';

const SOURCE = 'the tools in src/tools/';
const LIST = 'src/tools/list.ts';
const PAGE = 'docs/tools.md';
const MODES = ['default', 'auto_edit', 'plan', 'yolo'];
const NOTE = '// Written by `npm run docs` from the tools in src/tools/.';

update(LIST, formatList(readFileSync(join(root, LIST), 'utf8')), SOURCE);
const sources = await importSources(`
  export { TOOL_SETS } from './src/tools/define.ts';
  export { KEY_ROWS } from './src/approval/keys.ts';
  ${TOOL_SOURCES}`);
const { KEY_ROWS, TOOLS, TOOL_SETS } = sources;
update('src/cli/table/tools.ts', formatNames(), SOURCE);
const SCOPES = {
  edits: 'a change',
  command: 'a command',
  tool: 'any other tool',
  hosts: 'a fetch of pages',
  call: 'a file that may hold secrets',
};
const COLUMNS = ['tool', 'set', 'what it does', 'asks first'];
const tables = [
  ['tools', COLUMNS, listTools()],
  ['modes', ['tools', ...MODES.map((mode) => `\`${mode}\``)], listModes()],
  ['answers', ['key', 'what it does'], KEY_ROWS.map(formatKeyRow)],
];
fillIn(PAGE, tables, SOURCE);

/** The order is that of the list as it is; new tools come last. */
function formatList(before) {
  const files = new Map(
    readdirSync(join(root, 'src', 'tools'))
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => {
        const text = readFileSync(join(root, 'src', 'tools', name), 'utf8');
        return [...text.matchAll(/^export const (\w+) = defineTool\(/gm)].map(([, tool]) => [tool, `./${name}`]);
      }),
  );
  const order = [...before.matchAll(/^ {2}(\w+),$/gm)].map(([, tool]) => tool);
  const tools = [...new Set([...order, ...files.keys()])].filter((tool) => files.has(tool));
  const imports = [['type ToolDefinition', './define.ts'], ...files].sort(([, one], [, two]) => (one < two ? -1 : 1));
  return `${imports.map(([name, path]) => formatImport(name, path)).join('')}
/** In the order in which the model is told about them. \`npm run docs\` adds new ones; the order may be changed by hand. */
export const TOOLS: readonly ToolDefinition[] = [
${tools.map((tool) => `  ${tool},\n`).join('')}];
`;
}

function formatImport(name, path) {
  return name.startsWith('type ')
    ? `import type { ${name.slice(5)} } from '${path}';\n`
    : `import { ${name} } from '${path}';\n`;
}

function formatNames() {
  const rows = TOOL_SETS.map((set, index) => {
    const own = TOOLS.filter((tool) => tool.set === set && tool.companionOf === undefined);
    return `  ['${set}', '${index === 0 ? '' : 'those, and '}${own.map(formatWithCompanions).join(', ')}'],\n`;
  });
  return `${NOTE}

export const TOOL_NAMES = [
${TOOLS.map(({ name }) => `  '${name}',\n`).join('')}] as const;

export const TOOL_SETS = [
${rows.join('')}] as const;
`;
}

function formatWithCompanions({ name }) {
  const companions = TOOLS.filter(({ companionOf }) => companionOf === name);
  return companions.length === 0 ? name : `${name} (${companions.map((tool) => tool.name).join(', ')})`;
}

function listTools() {
  return TOOLS.map((tool) => {
    const { name, officialNames = [], companionOf, set, about, input } = tool;
    const names = [`\`${name}\``, ...officialNames.map((official) => `(\`${official}\`)`)].join(' ');
    const parameters = Object.keys(input.properties).map((parameter) => `\`${parameter}\``);
    const beside = companionOf === undefined ? '' : `; offered with \`${companionOf}\``;
    return [names, set, `${about}: ${parameters.join(', ')}${beside}`, describeQuestion(tool)];
  });
}

function describeQuestion(tool) {
  if (tool.effect === 'read' && tool.target !== undefined) return 'only for files that may hold secrets';
  return decideCall(sources, tool, 'default') === 'ask' ? 'yes' : 'no';
}

function formatKeyRow({ keys, scope, about }) {
  const names = keys.split(', ').map((key) => (/^\S$/.test(key) ? `\`${key}\`` : key));
  return [names.join(', '), scope === undefined ? about : `at ${SCOPES[scope]}: ${about}`];
}

/** Tools that are treated alike share a row; those of MCP servers are treated as what uses the network. */
function listModes() {
  const groups = new Map();
  for (const tool of TOOLS) {
    const decisions = MODES.map((mode) => decideCall(sources, tool, mode)).join(' | ');
    groups.set(decisions, [...(groups.get(decisions) ?? []), tool]);
  }
  return [...groups].map(([decisions, tools]) => {
    const hasServers = tools.some(({ effect, isNeverAsked }) => effect === 'network' && !isNeverAsked);
    const names = tools.map(({ name }) => `\`${name}\``).join(', ');
    return [`${names}${hasServers ? ', tools of MCP servers' : ''}`, decisions];
  });
}
