import { execFile } from 'node:child_process';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { windowsProgram } from './windows-command.ts';

/** A command that copies its input to the clipboard; undefined if there seems to be none. */
export function findClipboardProgram(env: Env, platform: string = process.platform): string | undefined {
  if (platform === 'darwin') return 'pbcopy';
  if (platform === 'win32') return windowsProgram('clip', env);
  if (env.WAYLAND_DISPLAY) return 'wl-copy';
  return env.DISPLAY ? 'xclip -selection clipboard' : undefined;
}

/** More than can be sent anyway. */
const MAX_BYTES = 64 * 1024 * 1024;

const POWERSHELL = '[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-Clipboard -Raw';

/** Programs that print the clipboard, in the order to try: text, then a picture. */
function listReaders(env: Env, platform: string): readonly (readonly [program: string, ...args: string[]])[] {
  if (platform === 'darwin') return [['pbpaste']];
  if (platform === 'win32') return [[windowsProgram('powershell', env), '-NoProfile', '-Command', POWERSHELL]];
  if (env.WAYLAND_DISPLAY) {
    return [
      ['wl-paste', '--no-newline', '--type', 'text'],
      ['wl-paste', '--type', 'image/png'],
    ];
  }
  const xclip = (type: string): readonly [string, ...string[]] => [
    'xclip',
    '-selection',
    'clipboard',
    '-o',
    '-t',
    type,
  ];
  return env.DISPLAY ? [xclip('UTF8_STRING'), xclip('image/png')] : [];
}

/**
 * The text in the clipboard, else a picture. Throws AppError `usage` if it is empty or there is none, and the signal's
 * reason.
 */
export async function readClipboard(
  { env, cwd }: { readonly env: Env; readonly cwd: string },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const programs = listReaders(env, process.platform);
  if (programs.length === 0) {
    throw new AppError('usage', '--paste found no clipboard: there is no display', {
      hint: 'Pipe it in instead: … | gmn "…"',
    });
  }
  let missing: string | undefined;
  for (const [program, ...args] of programs) {
    const read = await captureOutput({ program, args, env, cwd }, signal);
    signal.throwIfAborted();
    if (read === 'missing') missing = program;
    else if (read.length > 0) return read;
  }
  if (missing !== undefined) {
    throw new AppError('usage', `--paste needs the program ${missing}, which is not installed`, {
      hint: `Install ${missing}.`,
    });
  }
  throw new AppError('usage', 'the clipboard is empty', { hint: 'Copy something first, or leave --paste out.' });
}

interface CaptureOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Env;
  readonly cwd: string;
}

/** The output of a program; empty if it fails. Never throws. */
function captureOutput(
  { program, args, env, cwd }: CaptureOptions,
  signal: AbortSignal,
): Promise<Uint8Array | 'missing'> {
  return new Promise((resolve) => {
    execFile(
      program,
      args,
      { env, cwd, signal, encoding: 'buffer', maxBuffer: MAX_BYTES, windowsHide: true },
      (error, stdout) => {
        if (error === null) resolve(stdout);
        else resolve(error.code === 'ENOENT' ? 'missing' : new Uint8Array());
      },
    );
  });
}
