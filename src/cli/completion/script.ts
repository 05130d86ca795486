import type { Command } from '../table/command.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { completionPlan, type PlannedCommand, type Shell } from './plan.ts';
import { powershellScript } from './powershell.ts';
import { zshScript } from './zsh.ts';

const WRITERS: Readonly<Record<Shell, (plan: readonly PlannedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  powershell: powershellScript,
};

export function completionScript(shell: Shell, root: Command): string {
  return WRITERS[shell](completionPlan(root));
}
