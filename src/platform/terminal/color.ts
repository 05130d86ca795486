import type { Env } from '../../core/io.ts';

export type ColorChoice = 'auto' | 'always' | 'never';

/**
 * Whether styling may be written to a stream. The flag wins, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE
 * (`0` turns off), then TERM=dumb; otherwise it depends on whether that very stream is a terminal.
 */
export function mayStyle(choice: ColorChoice, env: Env, isTerminal: boolean): boolean {
  if (choice !== 'auto') return choice === 'always';
  if (env.NO_COLOR) return false;
  const forced = env.FORCE_COLOR ?? env.CLICOLOR_FORCE;
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  return isTerminal && env.TERM !== 'dumb';
}
