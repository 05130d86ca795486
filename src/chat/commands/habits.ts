/** What another tool calls something, and what it is here. Two words if the second is a subcommand: `chat save`. */
interface Habit {
  readonly names: readonly string[];
  readonly of: readonly ('claude' | 'codex' | 'gemini')[];
  /** The entry that does it; what follows the name follows this, too. */
  readonly entry?: string;
  /** What to do if no entry does it, in one sentence. */
  readonly advice?: string;
}

const ADD_DIRECTORY = 'Directories are named when the chat begins: gmn chat --include-directories <dir>.';
const NO_APPS = 'gmn has no apps; see /mcp for servers, /extensions for extensions, /skills for skills.';
const SETTINGS = 'Your settings: gmn config list. To change one: gmn config set <key> <value>.';
const SIGN_IN = 'Leave the chat and run: gmn auth set-key. What is used now: gmn auth status.';

/**
 * The slash commands of Claude Code, Codex and the Gemini CLI that are not called the same here. A command of gmn, a
 * custom command or a template of the same name comes first. docs/migration.md has this as a table.
 */
export const HABITS: readonly Habit[] = [
  { names: ['compact'], of: ['claude', 'codex', 'gemini'], entry: '/compress' },
  { names: ['summarize'], of: ['gemini'], entry: '/compress' },
  { names: ['cost', 'usage'], of: ['claude', 'codex', 'gemini'], entry: '/stats' },
  { names: ['stats session', 'stats model', 'stats tools'], of: ['gemini'], entry: '/stats' },
  { names: ['about', 'version'], of: ['gemini'], entry: '/status' },
  { names: ['approvals'], of: ['codex'], entry: '/approve' },
  { names: ['reset'], of: ['claude'], entry: '/clear' },
  { names: ['continue'], of: ['claude'], entry: '/resume' },
  { names: ['checkpoint'], of: ['claude'], entry: '/rewind' },
  { names: ['rename'], of: ['claude', 'codex'], entry: '/save' },
  { names: ['chat', 'chat list'], of: ['gemini'], entry: '/sessions' },
  { names: ['chat save', 'resume save'], of: ['gemini'], entry: '/save' },
  { names: ['chat resume', 'resume resume'], of: ['gemini'], entry: '/load' },
  { names: ['chat share', 'resume share'], of: ['gemini'], entry: '/export' },
  { names: ['resume list'], of: ['gemini'], entry: '/sessions' },
  { names: ['chat delete', 'resume delete'], of: ['gemini'], advice: 'In a shell: gmn sessions delete <session>.' },
  { names: ['fork', 'branch'], of: ['claude', 'codex'], advice: 'In a shell: gmn chat -r <session> --fork.' },
  { names: ['restore'], of: ['gemini'], entry: '/undo' },
  { names: ['mention'], of: ['codex'], entry: '/file' },
  { names: ['directory', 'dir', 'directory add', 'dir add'], of: ['gemini'], advice: ADD_DIRECTORY },
  { names: ['add-dir'], of: ['claude'], advice: ADD_DIRECTORY },
  { names: ['memory refresh', 'memory reload', 'memory list'], of: ['gemini'], entry: '/memory show' },
  {
    names: ['prompts'],
    of: ['codex'],
    advice: 'Prompts of your own are custom commands and templates here: /help lists them.',
  },
  { names: ['memories'], of: ['codex'], entry: '/memory' },
  { names: ['bashes', 'tasks'], of: ['claude'], entry: '/ps' },
  { names: ['shells'], of: ['gemini'], entry: '/ps' },
  { names: ['clean'], of: ['codex'], entry: '/stop all' },
  {
    names: ['todos'],
    of: ['claude'],
    advice: 'Each step that the model lists is shown as it changes; /output has the last.',
  },
  { names: ['mcp list', 'mcp desc', 'mcp schema'], of: ['gemini'], entry: '/mcp' },
  { names: ['mcp refresh'], of: ['gemini'], entry: '/mcp reload' },
  { names: ['mcp auth'], of: ['gemini'], advice: 'In a shell: gmn mcp auth <server>.' },
  {
    names: ['mcp enable', 'mcp disable'],
    of: ['gemini'],
    advice: 'In a shell: gmn mcp enable <server>, then /mcp reload.',
  },
  { names: ['tools desc', 'tools nodesc'], of: ['gemini'], entry: '/tools' },
  { names: ['commands', 'commands list'], of: ['gemini'], entry: '/help' },
  { names: ['?'], of: ['gemini'], entry: '/help' },
  { names: ['commands reload'], of: ['gemini'], advice: 'Custom commands are read anew each time: /help lists them.' },
  { names: ['docs'], of: ['gemini'], advice: 'In a shell: gmn help. It lists what there is to read.' },
  { names: ['keybindings', 'terminal-setup'], of: ['claude', 'gemini'], entry: '/keys' },
  { names: ['keymap'], of: ['codex'], entry: '/keys' },
  { names: ['shortcuts'], of: ['gemini'], entry: '/keys' },
  {
    names: ['vim'],
    of: ['claude', 'codex', 'gemini'],
    advice: 'There is no vi mode: Ctrl+G or /edit opens your editor.',
  },
  { names: ['editor'], of: ['gemini'], advice: 'VISUAL or EDITOR names your editor: /edit and Ctrl+G open it.' },
  { names: ['output-style'], of: ['claude'], entry: '/system' },
  { names: ['personality'], of: ['codex'], entry: '/system' },
  { names: ['fast'], of: ['claude', 'codex'], entry: '/model flash' },
  { names: ['effort'], of: ['claude'], advice: 'It is chosen when the chat begins: gmn chat --thinking-level low.' },
  { names: ['config'], of: ['claude'], advice: SETTINGS },
  { names: ['settings'], of: ['claude', 'codex', 'gemini'], advice: SETTINGS },
  { names: ['debug-config'], of: ['codex'], advice: 'In a shell: gmn config explain <key>.' },
  { names: ['doctor'], of: ['claude'], advice: 'In a shell: gmn doctor. Here: !gmn doctor.' },
  {
    names: ['theme'],
    of: ['claude', 'codex', 'gemini'],
    advice: 'Colours are those of your terminal; NO_COLOR=1 turns them off.',
  },
  {
    names: ['statusline', 'footer', 'title'],
    of: ['claude', 'codex', 'gemini'],
    advice: 'The status line is always the same; --plain has none.',
  },
  { names: ['login'], of: ['claude'], advice: SIGN_IN },
  { names: ['auth'], of: ['gemini'], advice: SIGN_IN },
  { names: ['logout'], of: ['claude', 'codex'], advice: 'In a shell: gmn auth logout.' },
  { names: ['upgrade'], of: ['claude', 'gemini'], advice: 'gmn never updates itself: use what you installed it with.' },
  { names: ['release-notes'], of: ['claude'], advice: 'CHANGELOG.md beside gmn has them; /status shows the version.' },
  {
    names: ['bug', 'feedback'],
    of: ['claude', 'codex', 'gemini'],
    advice: 'gmn doctor prints what to put into a report; gmn itself sends nothing.',
  },
  {
    names: ['privacy-settings', 'privacy'],
    of: ['claude', 'gemini'],
    advice: 'gmn has no telemetry; what Google keeps is up to your account there.',
  },
  { names: ['subagents'], of: ['claude', 'codex', 'gemini'], entry: '/agents' },
  { names: ['plugin', 'plugins'], of: ['claude', 'codex'], entry: '/extensions' },
  { names: ['apps'], of: ['codex'], advice: NO_APPS },
  {
    names: ['ide'],
    of: ['claude', 'codex', 'gemini'],
    advice: 'gmn does not connect to an editor; @path and /file attach files.',
  },
  { names: ['policies'], of: ['gemini'], entry: '/approve' },
  { names: ['pr-comments'], of: ['claude'], advice: 'With the gh program: !gh pr view --comments, then ask.' },
  { names: ['security-review'], of: ['claude'], entry: '/review' },
  {
    names: ['install-github-app', 'setup-github'],
    of: ['claude', 'gemini'],
    advice: 'gmn is a command: a workflow calls gmn -p "…" with a key in its environment.',
  },
];

export interface FoundHabit extends Pick<Habit, 'advice'> {
  /** The entry to run in place of the typed one. */
  readonly entry?: string;
}

/** By two words, then by one. Undefined if no other tool has it. */
export function findHabit(name: string, argument: string): FoundHabit | undefined {
  const [, second = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(argument) ?? [];
  const pair = HABITS.find(({ names }) => names.includes(`${name} ${second}`));
  const habit = pair ?? HABITS.find(({ names }) => names.includes(name));
  if (habit?.entry === undefined) return habit;
  return { entry: `${habit.entry} ${pair === undefined ? argument : rest}`.trim() };
}

export function listHabitNames(): readonly string[] {
  return HABITS.flatMap(({ names }) => names.filter((name) => !name.includes(' ')));
}
