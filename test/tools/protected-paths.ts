/** Files that programs run or believe by themselves. */
export const PROTECTED: readonly string[] = [
  '.git/config',
  '.git/hooks/pre-commit',
  '.gemini/settings.json',
  '.gmn/config.json',
  '.vscode/tasks.json',
  '.idea/workspace.xml',
  '.husky/pre-push',
  '.github/workflows/ci.yml',
  '.npmrc',
  '.bashrc',
  '.zshrc',
  '.profile',
  '.envrc',
  '.mcp.json',
  '.gitconfig',
  '.gitmodules',
  '.devcontainer/devcontainer.json',
  '.ssh/authorized_keys',
  '.circleci/config.yml',
  'sub/.git/hooks/post-checkout',
];

/** Ways to write the same path; NFD is how some systems keep names. */
export const DISGUISES: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => `./x/../${path}`,
  (path) => path.toUpperCase(),
  (path) => path.replaceAll('/', './').replace(/$/, '.'),
  (path) => path.replaceAll('/', ' /').replace(/$/, ' '),
  (path) => path.replaceAll('.', '%2e'),
  (path) => path.normalize('NFD').replace('i', '\u0131\u200d').replace('\u0131', 'i'),
  (path) => path.replace('.', '\uff0e'),
];
