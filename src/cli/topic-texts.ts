import { formatColumns, type Topic } from './help.ts';
import { TOOL_SETS } from './table/tools.ts';

/** The topics written by hand; the others are generated from tables. */
export const TEXTS: Readonly<Record<Exclude<Topic, 'env' | 'exit-codes' | 'flags'>, string>> = {
  auth: `Three ways in:
  export GEMINI_API_KEY=...     a key from https://aistudio.google.com/apikey
  gmn auth set-key              the same key, kept for you
  gemini                        the official CLI's sign-in, with a Workspace
                                account or a Code Assist licence
Vertex AI: GOOGLE_GENAI_USE_VERTEXAI=true, GOOGLE_CLOUD_PROJECT and
GOOGLE_CLOUD_LOCATION, with application default credentials.

The first of these that is set decides:
  1. --auth <type>, or GMN_AUTH
  2. security.auth.selectedType in the settings
  3. the environment (gmn help env)
  4. a key kept by gmn auth set-key
  5. the official CLI's sign-in

gmn auth status --online asks Google whether it works. Since June 2026 Google
serves no personal accounts through this sign-in: use a key.
`,
  compat: `gmn reads the official CLI's settings, sign-in, trusted folders and GEMINI.md,
and leaves them as they are, except for two things: a refresh token that Google
replaced, and the servers that you change with gmn mcp add, remove, enable and
disable, which are in ~/.gemini/settings.json unless -s says otherwise.

  gemini -p "hello"             gmn "hello", or gmn -p "hello"
  gemini -o json                gmn -o json --output-dialect gemini
  gemini -o stream-json         gmn -o stream-json --output-dialect gemini
  gemini -m, -y                 the same
  gemini -r latest -p "hello"   gmn -r latest "hello", or -r -p "hello"
  gemini (alone), gemini -r     gmn chat, gmn chat -r
  --approval-mode               the same
  --allowed-tools               the same
  --include-directories         the same

What differs:
  A positional prompt is always one answer, never a chat.
  Errors in the JSON formats are on stdout, so that it always parses.
  Exit codes are 1 to 5: gmn help exit-codes
  No tools unless --tools asks for them: gmn help tools
  A project's .env is not read, its settings only after: gmn trust
  No telemetry, no update check.
  What is not supported (sandbox, extensions, policies) is refused, with
  the reason, not ignored.
`,
  keys: `Enter                      send
Ctrl+J, Alt+Enter          a new line
Esc, Ctrl+C                in a turn: stop it
Ctrl+C                     clear the line; on an empty line leave
Ctrl+D                     on an empty line leave
Tab                        complete
Shift+Tab                  the next approval mode
Up, Down                   earlier entries
Ctrl+R                     search earlier entries
Ctrl+G                     the entry in your editor
Ctrl+L                     clear the screen
Ctrl+Z                     to the background; fg brings it back

Ctrl+A, Ctrl+E             start, end of the line
Alt+B, Alt+F               a word back, forward
Ctrl+W, Ctrl+U, Ctrl+K     cut a word, to the start, to the end
Ctrl+Y                     put back what was cut
Ctrl+_                     undo

A paste never sends. """ on a line of its own begins and ends a block.
`,
  mcp: `Servers are in mcpServers of ~/.gemini/settings.json or ~/.gmn/config.json:

  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "some-server"] },
    "wiki": { "httpUrl": "https://wiki.example/mcp" }
  }

  command, args, env, cwd       a program that is started
  httpUrl; url and type         an address
  timeout                       milliseconds, 600000 unless given
  includeTools, excludeTools    which of its tools are offered
  trust                         tools run without asking; in your own files only

$NAME in a value is a variable of your environment. A program gets PATH, HOME
and the like, and its env, and nothing else.
Servers in a folder's own settings are used once you approve them: gmn trust
A tool has its own name; where two have the same, the later is server__tool.
mcp.excluded and mcp.allowed turn servers off and on. gmn doctor finds entries
that cannot work.
`,
  sessions: `Conversations are kept in ~/.gmn/sessions, one file each, readable by you alone.
Large images and files are beside them in ~/.gmn/blobs.

A session is named by
  last                          the newest; in a chat, the newest chat
  7c1e90aa                      its id, or the beginning of it
  trip                          the name it was given
  3                             its number in the list

  gmn -r trip "and then?"       continue with one answer
  gmn -c "and then?"            the same with the newest of this directory
  gmn chat -r last              continue in a chat
  --session-name, --no-session  name a new one; do not save it

A session that goes on asks the same model with the same system instruction.
-m and --system change that: in a chat from then on, in a one-shot only once.

Whatever happens to gmn, what was written stays: a file is only ever added to,
and a torn end is repaired when it is read.

gmn sessions export last talk.html makes a page that can be read, searched and
printed anywhere; .md and .json do the same for texts and programs.
`,
  'stream-json': `-o json prints one object at the end:
  {"model", "response", "usage", "finishReason"}
  and, where there are any, "sessionId", "toolCalls", "warnings".

-o stream-json prints one object a line:
  {"type":"start","model"}
  {"type":"content","text"}                    a piece of the answer
  {"type":"thought","text"}                    only with --show-thoughts
  {"type":"tool_call","id","name","args"}
  {"type":"tool_result","id","name","result"}  "isError":true if it failed
  {"type":"done","usage","finishReason"}
  {"type":"error","error"}
The last line is done or error, always.

An error is {"error":{"code","type","message","suggestion"}}, on stdout; code is
the exit code (gmn help exit-codes). Text that had arrived is partialResponse.
stderr stays empty. Fields are only ever added.

  gmn "hello" -o json | jq -r .response
  gmn "hello" -o stream-json | jq -rj 'select(.type=="content").text'
`,
  tools: `--tools says what the model may use; a prompt has none unless you say so.
${formatColumns([...TOOL_SETS, ['names', 'read_file,glob']].map(([set, text]) => [set.padEnd(7), text]))}
What changes something asks first, with a diff or the exact command, if there is
a terminal; otherwise the call is denied, and the model gets the reason.
  --approval-mode auto_edit     edits run without asking, commands still ask
  --approval-mode plan          only readers
  --allowed-tools <names>       these run without asking
  --yolo                        nothing asks

In every mode the tools see the working directory and --include-directories
only, never write to .git, .gemini, .gmn and the like, and ask before they read
what may hold secrets (.env, *.pem, id_*).
gmn undo puts back the files that the last run changed.
`,
};
