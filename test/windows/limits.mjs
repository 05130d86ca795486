/**
 * What Wine 8 lacks, or does otherwise than Windows. inside/probe.cjs shows each of them without gmn, in every run of these tests.
 * The tests below wait for a real Windows: `.github/workflows/windows.yml`.
 */
export const LIMITS = {
  links: 'Wine makes no symbolic links and no junctions',
  console: 'Wine has no pseudoconsole (ConPTY) that shows anything',
  cmd: "Wine's cmd.exe looks into the current directory whatever NoDefaultCurrentDirectoryInExePath says",
  start: "Wine's `start` is a program of its own, which ends before what it has started",
  percent: "Wine's cmd.exe expands the variables in the arguments of a batch file once more",
  drives: 'Wine shows the root of Linux as Z:, and takes paths of Linux',
  append: 'Wine looks for the end of a file before it appends, so lines of several processes may overwrite each other',
  keepAlive: 'Wine cannot connect a socket whose keep-alive is set while it connects, as undici does behind a proxy',
  sockets: 'Wine reports a connection that was reset after an answer as one that was closed',
  killed:
    'Wine’s server may keep the connection of a process that was killed while it sent, so nobody learns of its end',
  speed: 'Wine opens files many times slower, so a limit in seconds is reached',
};

/** By file and full name; a name that ends with `*` is the beginning of several. */
const TESTS = {
  'batch/output/run-file.test.ts': { 'a plan that is a link is not believed': 'links' },
  'cli/approval-target.test.ts': {
    'the file a call would write is given by its real path, under every name, and for writers only': 'links',
    'the directory of a command is given by its real path': 'links',
  },
  'cli/batch-csv.test.ts': {
    'a CSV has a total and the time left; Ctrl+C leaves whole lines and the way on, and so does a second one':
      'console',
  },
  'cli/batch.test.ts': {
    'every row gets one line, and a row that cannot be asked is a failed one': 'links',
    'a terminal has one live line; Ctrl+C twice stops at once, and nothing that was answered is lost': 'console',
  },
  'cli/chat-crash.test.ts': {
    'a second chat on an open session continues a copy, and neither loses anything': 'console',
  },
  'cli/connections.test.ts': {
    'connections > a chat without a connection opens one at the first key of an entry, not at Enter': 'console',
  },
  'cli/examples.test.ts': {
    'answers.test.mjs passes where gmn and vitest are installed': 'links',
    'promptfoo-provider.mjs answers as promptfoo expects it': 'links',
  },
  'cli/files.test.ts': {
    'after kill -9 a new run goes on where the first stopped': 'killed',
    'on a terminal a bar shows how far it is': 'console',
  },
  'cli/first-minute.test.ts': { 'gmn alone on a terminal*': 'console', 'flags alone on a terminal*': 'console' },
  'cli/image.test.ts': {
    'nothing binary reaches a terminal that did not say it shows pictures': 'console',
    'kitty shows the picture that is saved': 'console',
    'iTerm2 shows the picture that is saved': 'console',
  },
  'cli/json-output.test.ts': { '*': 'console' },
  'cli/mcp-auth.test.ts': {
    'auth signs in through the browser and keeps it': 'console',
    'probe opens the browser that was named only if no questions are wanted': 'percent',
  },
  'cli/mcp-call.test.ts': {
    'further pieces take no place but a free one: how many there are, the server decides': 'links',
    'a tool that says something else about itself is shown in full, and allowed by looking at it on a terminal':
      'console',
  },
  'cli/mcp-terminal.test.ts': {
    'without a terminal, gmn declares no elicitation to servers': undefined,
    '*': 'console',
  },
  'cli/near-miss.test.ts': { 'a word typed on a terminal gets the hint, and no model is asked': 'console' },
  'cli/no-stream.test.ts': { '--no-stream shows the answer when it is complete': 'console' },
  'cli/official-flags.test.ts': { '--screen-reader lays nothing out, and draws no spinner': 'console' },
  'cli/output.test.ts': { '-x > shows code as it is on a terminal, made harmless': 'console' },
  'cli/sessions-export.test.ts': {
    'a directory, a device or a link to one is never replaced': 'links',
    'a link out of its directory is not followed, with --force either': 'links',
    'a directory that is a link out of the working directory is not followed*': 'links',
    'on a terminal nothing of a session is obeyed': 'console',
  },
  'cli/skills.test.ts': {
    'a skill is in the instruction by name, and its text and folder are the model’s once it asks for it': 'links',
  },
  'cli/terminal.test.ts': { '*': 'console' },
  'cli/windows.test.ts': {
    'a server behind npx.cmd is called, and gets every argument without the value of a variable': 'percent',
  },
  'cli/canaries.test.ts': Object.fromEntries(
    [
      'answer: a proxy',
      '400: a proxy',
      '401: a proxy',
      '403: a proxy',
      'a service account that is refused by the proxy',
    ].map((situation) => [`${situation} > no secret is in any output or file`, 'keepAlive']),
  ),
  'config/broken-files.test.ts': Object.fromEntries(
    [
      ...['home/.gemini/settings.json', 'home/.gmn/config.json', 'etc/settings.json', 'settings of a trusted folder'],
      ...['home/.gemini/trustedFolders.json', 'home/.gmn/trust.json', '~/.gemini/.env'],
    ].map((file) => [`${file}, spoilt: a dangling link`, 'links']),
  ),
  'config/context.test.ts': {
    'nothing is read from outside the root, from files that hold keys, or from what is no text': 'links',
    'a context file that is a link out of the project is not read': 'links',
    'the user’s own file may be a link to where they keep it, what it imports may not': 'links',
  },
  'config/trust.test.ts': {
    'a trusted folder is trusted by whatever link it is reached': 'links',
    'no folder but the trusted one and those in it is ever trusted, links or not': 'links',
  },
  'input/files.test.ts': {
    'the same file is sent once, by whatever way it is named': 'links',
    'a missing file is named, with what may have been meant': 'links',
    'a link to a directory is followed when it is named': 'links',
  },
  'input/mentions.test.ts': {
    'nothing outside the working directory is attached, by whatever way': 'links',
    'a working directory that is reached through a link is still one': 'links',
  },
  'mcp/server/notes.test.ts': { 'refused paths are listed in the answer; missing files are not': 'links' },
  'platform/files/directory-handle.test.ts': {
    'a path on a drive that is not there leads nowhere, and the search for it ends': 'drives',
  },
  'platform/files/read.test.ts': { 'a directory is listed by name, links as links': 'links' },
  'platform/files/upload-source.test.ts': {
    'a link is followed unless it must not be; what is no file is refused': 'links',
  },
  'platform/files/write.test.ts': { 'a link stays a link, and its target is replaced': 'links' },
  'platform/http/heads.test.ts': { 'a reset where only the end of the line tells the end is a failure': 'sockets' },
  'platform/process/planted.test.ts': {
    'a command does not run the programs of its directory by their bare names': 'cmd',
    'an MCP server that is a batch file runs no program of its directory': 'cmd',
  },
  'platform/process/windows-tree.test.ts': { 'what a command starts with start /b is ended and reported': 'start' },
  'session/reference.test.ts': {
    'the newest of a directory is the one that was written to last, links not counted': 'links',
  },
  'session/usage-report.test.ts': { 'many processes can append at the same time': 'append' },
  'tools/files.test.ts': { 'the call of the specification, list_directory with "path", works': 'links' },
  'tools/search/many-files.test.ts': {
    'among many thousands of files a line is found, while the event loop runs': 'speed',
  },
  'tools/search/search.test.ts': {
    'what .geminiignore leaves out is not read either, by whatever name; what .gitignore leaves out is': 'links',
  },
  'tools/workspace/fence-model.test.ts': {
    'the fence leads where a kernel that never leaves the workspace would, for any tree, link and path': 'links',
  },
  'tools/workspace/fence.test.ts': {
    'outside is refused in the same words whether it is there or not, by name and through a link': 'links',
    'a path that leads in through the name of the root it was given by is the same place': 'links',
    'what is denied is closed under the name it was given by, and under its real one': 'links',
    'what is protected is read, and not written: by its own name, by a link to it, by a link from it': 'links',
    'a secret is asked for under each of its names': 'links',
  },
  'tools/workspace/payloads.test.ts': {
    'no path leads out of the workspace, held by path: neither a byte from there nor a change': 'speed',
    'a link that stays inside is followed, and read by the name of its target': 'links',
  },
  'tools/workspace/protection.test.ts': {
    'a link with a harmless name does not open a protected directory': 'links',
    'what is missing to make a repository is not written, and what is ordinary by itself is': 'links',
    'the files that instruct are not written, by whatever spelling': 'links',
    'only the user lets a file with secrets be read, and only once': 'links',
  },
  'tools/workspace/race.test.ts': {
    'of 500 files written while a directory is swapped for a link, none lands outside': 'links',
  },
  'tools/workspace/workspace.test.ts': {
    'a root that is named through a link can be used by both names': 'links',
    'handles by path: system errors become messages': 'links',
    'a directory that is swapped for a link after it was looked at is noticed': 'links',
  },
};

/** A key of `LIMITS`; undefined for a test that Wine runs as Windows would. */
export function explainLimit(file, name) {
  const rows = Object.entries(TESTS[file] ?? {});
  return rows.find(([key]) => key === name || (key.endsWith('*') && name.startsWith(key.slice(0, -1))))?.[1];
}
