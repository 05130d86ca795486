import { formatColumns, type Topic } from './help.ts';
import { TOOL_SETS } from './table/tools.ts';

/** The topics written by hand; the others are generated from tables. */
export const TEXTS: Readonly<Record<Exclude<Topic, 'env' | 'exit-codes' | 'flags'>, string>> = {
  auth: `Three ways in:
  export GEMINI_API_KEY=...     a key from https://aistudio.google.com/apikey;
                                in PowerShell: $env:GEMINI_API_KEY = "..."
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
  gemini -r latest -p "hello"   gmn -r latest "hello"
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
  --sandbox confines the commands of the model, not the whole program.
  Policies deny and ask as there, and grant nothing: gmn permissions list
  What is not supported is refused, with the reason, not ignored.
`,
  completion: `A Tab completes commands, flags and their values, files, and the names of models,
sessions, templates, MCP servers and settings. In a prompt it completes @path.

Put one of these lines into the file that your shell reads at its start:
  bash         ~/.bashrc            source <(gmn completion bash)
  bash 3.2     ~/.bash_profile      eval "$(gmn completion bash)"
  zsh          ~/.zshrc             source <(gmn completion zsh)
  fish         config.fish          gmn completion fish | source
  PowerShell   $PROFILE             gmn completion powershell | Out-String |
                                      Invoke-Expression
In ~/.zshrc it goes after compinit.

Or once, into a file that the shell loads on its own:
  gmn completion bash > ~/.local/share/bash-completion/completions/gmn
  gmn completion zsh > "\${fpath[1]}/_gmn"
  gmn completion fish > ~/.config/fish/completions/gmn.fish
It asks at each Tab what there is, so an update needs no new one.
`,
  config: `No settings are needed. Each of these wins over the ones above it:
  system-defaults.json          beside the machine's settings
  ~/.gemini/settings.json       the official CLI's, read only
  ~/.gmn/config.json            the same format, for gmn alone
  .gemini/settings.json         of this folder, if you trust it
  /etc/gemini-cli/settings.json the machine's; on Windows it is in
                                C:\\ProgramData\\gemini-cli
  variables                     gmn help env
  flags                         gmn help flags

  gmn config set model pro      into ~/.gmn/config.json; comments stay
  gmn config list --all         every key that gmn reads, with its default
  gmn config explain model      the value, and every file that sets it
  gmn config set prices '{"my-model":{"input":0.3,"output":2.5}}'
                                dollars per million tokens, for --max-cost

A folder's settings, MCP servers, commands and AGENTS.md are used only if you
trust it. A chat asks once; gmn trust, or gmn trust --deny, answers at any time,
and gmn trust --list shows the answers. A folder never decides who pays, who is
asked and what runs without approval.
`,
  demo: `gmn --demo "hello" asks a small model inside gmn: no account, no network, and the
same answer every time. For a tour: gmn demo. For your own scripts:

  gmn demo serve --port 8080 &
  export GEMINI_API_KEY=demo GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8080

In PowerShell, with the server in a window of its own:
  $env:GEMINI_API_KEY = "demo"
  $env:GOOGLE_GEMINI_BASE_URL = "http://127.0.0.1:8080"

--fault makes it misbehave; commas or repeat, 503x1 only the first time:
  401, 403, 404-retired, 429, 429-daily, 500, 503, rpm=600, redirect=<url>
  UNSUPPORTED_CLIENT, TOS_VIOLATION, VALIDATION_REQUIRED
  hang, hang-after=2, slow=5s, cut-after=2, garbage, no-finish, empty
  safety, blocked, max-tokens, window=20000, malformed-call, no-image
gmn demo serve --fault ? lists every fault with what it does.

--script answers from a file in the official CLI's fake-response format.

To test with what the real service says, without it:
  gmn demo serve --record calls.jsonl     a proxy that writes down each exchange
  gmn demo serve --replay calls.jsonl     the same answers to the same requests
  GMN_RECORD=calls.jsonl gmn "hello"      record a run of gmn, without a server
  gmn --replay calls.jsonl "hello"        and replay it
A request that differs is refused, with the difference; the server ends with 1 if
one was, or if an exchange was never asked for. --ignore date and the like say
what does not count. Credentials are never in the file; neither are your paths, nor
the context files of your home (but with GMN_RECORD_HOME=1). --fault works, too:
  gmn demo serve --replay calls.jsonl --fault cut-after=2x1
`,
  extending: `gmn reads what you have for the Gemini CLI and Claude Code, where it is:

  skills       ~/.gemini/skills/<name>/SKILL.md   also ~/.agents, ~/.claude
  sub-agents   ~/.gemini/agents/<name>.md         also ~/.claude
  hooks        "hooks" in ~/.gemini/settings.json
  extensions   ~/.gemini/extensions, as the Gemini CLI has installed them

A folder can bring its own, in .gemini, .agents and .claude, and MCP servers in
.mcp.json. None of it is used before you have seen it: gmn trust. What has
changed since then is skipped until you look again.

  gmn skills list                       which there are, and which are not used
  gmn --skill pdf "…"                   the model follows a skill
  gmn --tools read "@reviewer …"        ask a sub-agent at once
  gmn doctor                            all of it, and what is wrong with it

A hook runs at BeforeTool, AfterTool, BeforeAgent, AfterAgent, SessionStart,
SessionEnd, PreCompress and Notification, or what Claude Code calls these. Exit
code 2 says no. A BeforeTool hook that fails denies the call.
`,
  keys: `Enter                      send
Ctrl+J, Alt+Enter          a new line
Esc Esc                    on an empty line: back to an earlier prompt
Esc, Ctrl+C                in a turn: stop it
Ctrl+C                     clear the line; on an empty line leave
Ctrl+D                     on an empty line leave
/, @                       a menu: Enter takes the marked row, Esc closes it
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
  'mcp-server': `gmn mcp serve lets other agents ask Gemini and delegate work to it. It reads files
in the directories you allow, and does nothing else unless you allow it.

  Claude Code     claude mcp add gemini -- gmn mcp serve
  Codex           codex mcp add gemini -- gmn mcp serve
  Gemini CLI      gemini mcp add gemini gmn mcp serve
  Cursor, Claude Desktop and others: in their settings
    "mcpServers": {
      "gemini": { "command": "gmn", "args": ["mcp", "serve"] }
    }
  VS Code: the same under "servers", with "type": "stdio"

  --root <dir>      where callers may work; by default where it is started
  --allow-write     Gemini may change files there; gmn undo puts them back
  --allow-shell     Gemini may run commands, with your rights
  --tools <groups>  chat, genai, delegate
  --show-session    the id of a chat in its text, if the host hides it
  --max-cost <usd>  for all calls together
  --http <port>     over http on this machine, with --token-file

Hosts cut off long calls: for long work, delegate with "mode": "async", then
delegate_status. To try it without an account: gmn mcp serve --demo
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
  gmn chat -r last              continue in a chat; -r alone: choose from a list
  --session-name, --no-session  name a new one; do not save it

A session that goes on asks the same model with the same system instruction.
-m and --system change that: in a chat from then on, in a one-shot only once.

Whatever happens to gmn, what was written stays: a file is only ever added to,
and a torn end is repaired when it is read. What gmn sessions delete takes away
can be brought back for 7 days: gmn sessions restore

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
stderr stays empty. Fields are only ever added. gmn help --json has their schemas,
and every command, flag, variable, setting and exit code, in one document.

With --input-format stream-json, too, one run has many turns. It reads objects,
one a line, split on LF only, until its input ends:
  {"type":"prompt","id","text"}    or "parts"; "model", "system", "tools",
                                   "schema", "skills" for this turn only
  {"type":"cancel","id"}
  {"type":"approve","call","decision"}  yes, no or always; "args", "reason"
  {"type":"set","model","mode"}    for the turns after it
  {"type":"ping"}
Every line it writes has "turn", the id of its prompt. accepted or queued comes
at once, approval with --relay-approvals where a person would be asked. A line
that cannot be used is an error with its number, "line", and ends nothing.

  gmn "hello" -o json | jq -r .response
  gmn "hello" -o stream-json | jq -rj 'select(.type=="content").text'
`,
  tools: `--tools says what the model may use; a prompt has none unless you say so.
${formatColumns([...TOOL_SETS, ['names', 'read_file,glob']].map(([set, text]) => [set.padEnd(7), text]))}
What changes something asks first, with a diff or the exact command, if there is
a terminal; otherwise the call is denied, and the model gets the reason.
  --approval-mode auto_edit     edits run without asking, commands still ask
  --approval-mode plan          only readers
  --allowed-tools <names>       these run without asking, also commands by their
                                first words: 'run_shell_command(git status)'
  --yolo                        nothing asks
At a question, ? explains the keys; A, P and S keep what you allow for this
project (gmn permissions list, gmn permissions remove).

In every mode the tools see the working directory and --include-directories
only, never write to .git, .gemini, .gmn and the like, and ask before they read
what may hold secrets (.env, *.pem, id_*).
gmn undo puts back the files that the last run changed.
`,
};
