import { execFile } from 'node:child_process';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import { errorReason } from '../runtime/system.ts';
import { helperEnvironment } from './environment.ts';
import { findHelper } from './program-path.ts';
import { feedProgram } from './run.ts';
import { windowsProgram } from './windows-command.ts';

type Words = readonly [program: string, ...args: string[]];

/** The program that copies here, whether it is installed or not; undefined if there is no display. */
export function findClipboardWriter(env: Env, platform: string = process.platform): Words | undefined {
  if (platform === 'darwin') return ['pbcopy'];
  if (platform === 'win32') return [windowsProgram('clip', env)];
  if (env.WAYLAND_DISPLAY) return ['wl-copy'];
  return env.DISPLAY ? ['xclip', '-selection', 'clipboard'] : undefined;
}

export async function writeClipboard(
  text: string,
  [program, ...args]: Words,
  { env, cwd }: Pick<ClipboardOptions, 'env' | 'cwd'>,
  signal: AbortSignal,
): Promise<void> {
  const file = findHelper(program, env, [cwd]);
  if (file === undefined) throw missingProgramError(program);
  const input = encodeForClipboard(text, program);
  const run = { program: file, args, input, cwd, env: helperEnvironment(env, [cwd]) };
  const why = await feedProgram(run, signal).then(
    (exitCode) => (exitCode === 0 ? undefined : `exit code ${exitCode}`),
    (thrown: unknown) => {
      signal.throwIfAborted();
      return errorReason(thrown);
    },
  );
  if (why === undefined) return;
  throw new AppError('usage', `the answer was not copied: ${program} failed (${why})`, {
    hint: 'See what it says above.',
  });
}

/** clip.exe reads other text than UTF-16 in the code page of the console. */
export function encodeForClipboard(text: string, program: string): string | Uint8Array {
  return /\bclip(?:\.exe)?$/i.test(program) ? Buffer.from(`\ufeff${text}`, 'utf16le') : text;
}

function missingProgramError(program: string): AppError {
  return new AppError('usage', `the clipboard needs the program ${program}, which is not installed`, {
    hint: `Install ${program}. One that is inside this folder is not used.`,
  });
}

/** More than can be sent anyway. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Kept short: the user waits, and cannot type meanwhile. */
const PROGRAM_MS = 5000;

interface Reader {
  readonly holds: 'text' | 'picture';
  readonly command: Words;
  readonly decode?: (output: Uint8Array) => Uint8Array;
}

const POWERSHELL_TEXT = '[Console]::OutputEncoding=New-Object Text.UTF8Encoding $false; Get-Clipboard -Raw';
const POWERSHELL_PICTURE =
  "Add-Type -AssemblyName 'System.Windows.Forms','System.Drawing'; $p=[Windows.Forms.Clipboard]::GetImage(); " +
  'if ($p) { $s=New-Object IO.MemoryStream; $p.Save($s,[Drawing.Imaging.ImageFormat]::Png); ' +
  '$o=[Console]::OpenStandardOutput(); $s.WriteTo($o); $o.Flush() }';

export function listClipboardReaders(env: Env, platform: string = process.platform): readonly Reader[] {
  if (platform === 'darwin') {
    return [
      { holds: 'text', command: ['pbpaste'] },
      { holds: 'picture', command: ['pngpaste', '-'] },
      { holds: 'picture', command: ['osascript', '-e', 'the clipboard as «class PNGf»'], decode: decodeAppleData },
    ];
  }
  if (platform === 'win32') {
    const run = (script: string): Words => [
      windowsProgram('powershell', env),
      ...['-NoProfile', '-STA', '-Command', script],
    ];
    return [
      { holds: 'text', command: run(POWERSHELL_TEXT) },
      { holds: 'picture', command: run(POWERSHELL_PICTURE) },
    ];
  }
  if (env.WAYLAND_DISPLAY) {
    return [
      { holds: 'text', command: ['wl-paste', '--no-newline', '--type', 'text'] },
      { holds: 'picture', command: ['wl-paste', '--type', 'image/png'] },
    ];
  }
  if (!env.DISPLAY) return [];
  const xclip = (type: string): Words => ['xclip', '-selection', 'clipboard', '-o', '-t', type];
  return [
    { holds: 'text', command: xclip('UTF8_STRING') },
    { holds: 'picture', command: xclip('image/png') },
  ];
}

/** `«data PNGf89504E47…»`, as AppleScript prints data. */
export function decodeAppleData(output: Uint8Array): Uint8Array {
  const [, digits = ''] = /«data \w{4}([\dA-F]+)»/i.exec(Buffer.from(output).toString('utf8')) ?? [];
  return Buffer.from(digits, 'hex');
}

interface ClipboardOptions {
  readonly env: Env;
  readonly cwd: string;
  readonly prefers?: 'text' | 'picture';
  readonly maxMs?: number;
}

/** Text or a picture. Throws AppError `usage` if there is no clipboard, it is empty or does not answer; and the signal's reason. */
export async function readClipboard(
  { env, cwd, prefers = 'text', maxMs = PROGRAM_MS }: ClipboardOptions,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const readers = listClipboardReaders(env);
  if (readers.length === 0) {
    throw new AppError('usage', 'no clipboard was found: there is no display', {
      hint: 'Pipe it in instead: … | gmn "…"',
    });
  }
  const missing = new Set<string>();
  const ordered = readers.toSorted((left, right) => Number(right.holds === prefers) - Number(left.holds === prefers));
  for (const { command, decode } of ordered) {
    const [program, ...args] = command;
    const output = await captureOutput({ program, args, env, cwd, maxMs }, signal);
    signal.throwIfAborted();
    if (output === 'silent') {
      throw new AppError('usage', `the clipboard does not answer: ${program} took longer than ${maxMs / 1000} s`, {
        hint: 'The program that holds the text or picture may hang: copy it again.',
      });
    }
    if (output === 'missing') missing.add(program);
    else {
      const bytes = decode?.(output) ?? output;
      if (bytes.length > 0) return bytes;
    }
  }
  const [program] = missing;
  // If there are several programs, one of them is enough.
  if (program !== undefined && missing.size === new Set(readers.map(({ command: [name] }) => name)).size) {
    throw missingProgramError(program);
  }
  throw new AppError('usage', 'the clipboard is empty', { hint: 'Copy something first.' });
}

interface CaptureOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Env;
  readonly cwd: string;
  readonly maxMs: number;
}

/** The output of a program; empty if it fails, `silent` if it takes too long. Never throws. */
function captureOutput(
  { program, args, env, cwd, maxMs }: CaptureOptions,
  signal: AbortSignal,
): Promise<Uint8Array | 'missing' | 'silent'> {
  const file = findHelper(program, env, [cwd]);
  if (file === undefined) return Promise.resolve('missing');
  return new Promise((resolve) => {
    const child = execFile(
      file,
      args,
      {
        env: helperEnvironment(env, [cwd]),
        cwd,
        signal,
        encoding: 'buffer',
        maxBuffer: MAX_BYTES,
        timeout: maxMs,
        windowsHide: true,
      },
      (error, stdout) => {
        if (error === null) resolve(stdout);
        else if (error.killed && error.signal !== null) resolve('silent');
        else resolve(new Uint8Array());
      },
    );
    // Older PowerShells wait for the end of an input that is a pipe.
    child.stdin?.on('error', () => {}).end();
  });
}
