// What `gmn help --json` prints, made of the rows of every table; the builds write it beside the program.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importSources } from './generated.mjs';
import { root } from './project.mjs';

/** Beside the program; src/boot.ts reads it by this name. */
const FILE = 'help.json';

/** Of the document itself: who reads the document has no use for it there. */
const OWN_SCHEMA = 'help';

/** For src/main.ts. */
export const descriptionDefines = { DESCRIPTION: JSON.stringify(FILE) };

export async function writeDescription(directory, version) {
  const sources = await importSources(`
    export { describeProgram } from './src/cli/description.ts';
    export { ROOT } from './src/cli/table/root.ts';
    export { EXPECTED, ROWS } from './src/config/keys.ts';
    export { renderers } from './src/render/renderers.ts';
    ${TOOL_SOURCES}`);
  const { describeProgram, ROOT, EXPECTED, ROWS, renderers, TOOLS } = sources;
  const { choices: modes } = ROOT.flags.find(({ long }) => long === 'approval-mode');
  const decisions = (tool) => Object.fromEntries(modes.map((mode) => [mode, decideCall(sources, tool, mode)]));
  const text = describeProgram(ROOT, {
    version,
    settings: ROWS.map(([key, row]) => [key, { ...row, expected: EXPECTED[row.kind] }]),
    formats: renderers,
    tools: TOOLS.map((tool) => ({ ...tool, approval: decisions(tool) })),
    schemas: readSchemas(),
  });
  writeFileSync(join(directory, FILE), text);
}

/** What `decideCall` needs of src. */
export const TOOL_SOURCES = `
  export { TOOLS } from './src/tools/list.ts';
  export { dropLoneCompanions } from './src/tools/builtins.ts';
  export { approvalPolicy, selectOfferedTools } from './src/approval/policy.ts';`;

/** What happens to a call in a mode: `run`, `ask`, `not offered`. */
export function decideCall({ TOOLS, approvalPolicy, dropLoneCompanions, selectOfferedTools }, tool, mode) {
  if (!dropLoneCompanions(selectOfferedTools(TOOLS, mode)).includes(tool)) return 'not offered';
  return approvalPolicy({ mode, allowed: [], isTrusted: () => false }).rule({ tool, args: {} }).kind;
}

function readSchemas() {
  const directory = join(root, 'docs', 'schemas');
  const names = readdirSync(directory).sort();
  const schemas = names.map((file) => [
    file.replace('.schema.json', ''),
    JSON.parse(readFileSync(join(directory, file), 'utf8')),
  ]);
  return Object.fromEntries(schemas.filter(([name]) => name !== OWN_SCHEMA));
}
