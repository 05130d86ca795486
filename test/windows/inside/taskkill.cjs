// taskkill /pid <n> [/t] [/f], for Wine
const { spawnSync } = require('node:child_process');
const { closeSync, openSync, readFileSync, rmSync } = require('node:fs');
const { join } = require('node:path');

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const root = Number(words[words.indexOf('/pid') + 1]);
const parents = readParents();
if (!parents.has(root)) {
  process.stderr.write(`ERROR: The process "${root}" not found.\r\n`);
  process.exit(128);
}
for (const pid of words.includes('/t') ? listTree(root) : [root]) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
process.stdout.write(`SUCCESS: The process with PID ${root} has been terminated.\r\n`);

/** Each process with its parent. In a file, not a pipe: Wine may start its desktop for wmic, which inherits the pipe and stays. */
function readParents() {
  const wmic = join(process.env.SystemRoot ?? 'C:\\windows', 'system32', 'wbem', 'wmic.exe');
  const file = `C:\\temp\\taskkill-${process.pid}`;
  const output = openSync(file, 'w');
  spawnSync(wmic, ['process', 'get', 'ProcessId,ParentProcessId'], { stdio: ['ignore', output, 'ignore'] });
  closeSync(output);
  const table = readFileSync(file, 'utf16le');
  rmSync(file, { force: true });
  const rows = [...table.matchAll(/^\s*(\d+)\s+(\d+)\s*$/gm)];
  return new Map(rows.map(([, parent, pid]) => [Number(pid), Number(parent)]));
}

function listTree(root) {
  const tree = new Set([root]);
  // A set that grows is iterated to its new end.
  for (const member of tree) for (const [pid, parent] of parents) if (parent === member) tree.add(pid);
  return tree;
}
