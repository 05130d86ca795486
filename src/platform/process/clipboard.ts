import type { Env } from '../../core/io.ts';
import { windowsProgram } from './windows-command.ts';

/** The command that takes what it reads for the clipboard; undefined if there is no sign of one. */
export function clipboardProgram(env: Env, platform: string = process.platform): string | undefined {
  if (platform === 'darwin') return 'pbcopy';
  if (platform === 'win32') return windowsProgram('clip', env);
  if (env.WAYLAND_DISPLAY) return 'wl-copy';
  return env.DISPLAY ? 'xclip -selection clipboard' : undefined;
}
