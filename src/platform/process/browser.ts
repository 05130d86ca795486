import { spawn } from 'node:child_process';
import type { Env } from '../../core/io.ts';
import { windowsProgram } from './windows-command.ts';

/**
 * Opens a page in the person's browser: `BROWSER` names the program, else the system's own. False if none can be started, or
 * `NO_BROWSER` is set. The address is one argument, and no shell sees it: only give it https or loopback ones.
 */
export function openBrowser(url: string, env: Env, platform: string = process.platform): Promise<boolean> {
  if (env.NO_BROWSER) return Promise.resolve(false);
  const [command, ...args] = env.BROWSER ? [env.BROWSER] : systemBrowser(platform, env);
  return new Promise((resolve) => {
    try {
      const child = spawn(command ?? '', [...args, url], { stdio: 'ignore', detached: true, env });
      child.once('error', () => resolve(false));
      child.once('spawn', () => {
        child.unref();
        resolve(true);
      });
    } catch {
      resolve(false);
    }
  });
}

function systemBrowser(platform: string, env: Env): readonly string[] {
  if (platform === 'darwin') return ['open'];
  return platform === 'win32' ? [windowsProgram('rundll32', env), 'url.dll,FileProtocolHandler'] : ['xdg-open'];
}
