import { extname, resolve } from 'node:path';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { AnswerFile, SavedFile, TurnEvent } from '../../core/event.ts';
import { createOutputFile, openOutputFile } from '../../platform/files/write.ts';

interface AnswerFilesContext {
  readonly app: Pick<App, 'cwd'>;
  /** Files without a name of their own are named after it. */
  readonly prompt: string;
  /** Takes the bytes of a file without a name, if nothing else is written there. Absent: every file is saved. */
  readonly pipe?: (bytes: Uint8Array) => Promise<void>;
  /** Whether the user asked for a picture: then it, and not the text, goes to the named file or to `pipe`. */
  readonly isPicture?: boolean;
}

export interface AnswerFiles {
  /** Passes text of the answer on, or holds it back. Returns the events to show. */
  takeText(event: TextEvent): readonly TurnEvent[];
  /** Saves a file, unless it may still go to `pipe`. Returns the events to show. Throws AppError `usage`. */
  add(file: AnswerFile): Promise<readonly TurnEvent[]>;
  /** Saves what is left, before the end. Throws AppError `usage`, and `api` if a picture was wanted and none came. */
  finish(): Promise<readonly TurnEvent[]>;
  /** Like `finish`, for a run that failed: saves as much as it can. Never throws. */
  rescue(): Promise<readonly TurnEvent[]>;
  hasLost(): boolean;
}

type TextEvent = Extract<TurnEvent, { type: 'text' }>;

/** Saves the pictures and other files of an answer: where the user says, else under free names in the working directory. */
export function createAnswerFiles(
  { outputFile: named }: { readonly outputFile?: string },
  context: AnswerFilesContext,
): AnswerFiles {
  const { app, isPicture = false } = context;
  const pipe = named === undefined ? context.pipe : undefined;
  /** Whether the named file is for pictures and the like, not for the text. */
  const isForFiles = named !== undefined && (isPicture || MEDIA_NAME.test(named));
  const held: AnswerFile[] = [];
  let isNamedUsed = false;
  let hasText = false;
  let hasFiles = false;
  let hasLost = false;
  /** Text that is not shown as the answer, because a picture is piped. */
  let heldText = '';

  function takeHeldText(): string {
    const text = heldText;
    heldText = '';
    return text;
  }

  function takeHeldNotices(): TurnEvent[] {
    const message = takeHeldText().trim();
    return message === '' ? [] : [{ type: 'notice', message }];
  }

  async function save(file: AnswerFile, mayUseName: boolean): Promise<readonly TurnEvent[]> {
    try {
      return await write(file, mayUseName);
    } catch (thrown) {
      hasLost = true;
      throw thrown;
    }
  }

  async function write(file: AnswerFile, mayUseName: boolean): Promise<readonly TurnEvent[]> {
    if (named === undefined || isNamedUsed || !mayUseName)
      return [toEvent(file, await saveUnderFreeName(file, chooseStem(file), app.cwd))];
    isNamedUsed = true;
    const { mimeType, bytes } = toFileContent(file);
    const size = await (await openOutputFile(named, app.cwd)).write(bytes);
    const path = resolve(app.cwd, named);
    const notices = findExtensionNotices(named, mimeType).map((message) => ({ type: 'notice', message }) as const);
    return [...notices, toEvent(file, { path, name: named, mimeType, bytes: size, isNamed: true })];
  }

  /** Later files of an answer that has a named one are named after it. */
  function chooseStem({ mimeType }: AnswerFile): string {
    if (named !== undefined && isForFiles) return named.slice(0, named.length - extname(named).length);
    return toFileStem(context.prompt) || (mimeType.startsWith('image/') ? 'gmn-image' : 'gmn-answer');
  }

  return {
    takeText(event) {
      hasText = true;
      if (!isPicture || context.pipe === undefined) return [event];
      heldText += event.delta;
      return [];
    },
    async add(file) {
      hasFiles = true;
      // Whether the answer also has text is known only at its end.
      if (pipe !== undefined || (named !== undefined && !isForFiles && !isNamedUsed)) {
        held.push(file);
        return [];
      }
      return save(file, isForFiles);
    },
    async finish() {
      if (isPicture && !hasFiles) throw noPictureError(takeHeldText());
      const events: TurnEvent[] = takeHeldNotices();
      const [first, ...others] = held.splice(0);
      if (first === undefined) return events;
      const isAlone = isPicture || !hasText;
      if (pipe !== undefined && isAlone) {
        await pipe(toFileContent(first).bytes);
        events.push(toEvent(first));
      } else events.push(...(await save(first, isAlone)));
      for (const file of others) events.push(...(await save(file, false)));
      return events;
    },
    async rescue() {
      const events: TurnEvent[] = takeHeldNotices();
      // The failure itself may be that nothing can be written.
      for (const file of held.splice(0)) events.push(...(await save(file, false).catch(() => [])));
      return events;
    },
    hasLost: () => hasLost,
  };
}

async function saveUnderFreeName(file: AnswerFile, stem: string, cwd: string): Promise<SavedFile> {
  const { mimeType, bytes } = toFileContent(file);
  for (let count = 1; ; count += 1) {
    const name = `${stem}${count === 1 ? '' : `-${count}`}${toExtension(mimeType)}`;
    const made = await createOutputFile(name, cwd, bytes);
    if (made === 'created') return { path: resolve(cwd, name), name, mimeType, bytes: bytes.length };
    if (count >= MAX_NAMES) throw new AppError('usage', `cannot write ${name}: it exists`, { hint: NAME_IT });
  }
}

function noPictureError(answer: string): AppError {
  return new AppError('api', 'the model made no picture', {
    hint: 'Say in the prompt that you want a picture, and of what.',
    answer: answer || undefined,
  });
}

const MAX_NAMES = 10_000;
const NAME_IT = 'Name a file: --output-file <path>';

function toEvent({ mimeType, data }: AnswerFile, saved?: SavedFile): TurnEvent {
  return { type: 'file', file: { mimeType, data, saved } };
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/webp': '.webp',
  'image/gif': '.gif',
  'image/heic': '.heic',
  'image/heif': '.heif',
  'image/avif': '.avif',
  'image/svg+xml': '.svg',
  'audio/wav': '.wav',
  'audio/x-wav': '.wav',
  'audio/mp3': '.mp3',
  'audio/mpeg': '.mp3',
  'audio/ogg': '.ogg',
  'audio/flac': '.flac',
  'audio/aac': '.aac',
  'video/mp4': '.mp4',
  'application/pdf': '.pdf',
  'text/csv': '.csv',
  'text/plain': '.txt',
};

const MEDIA_NAME = /\.(?:png|jpe?g|webp|gif|hei[cf]|avif|svg|wav|mp3|ogg|flac|aac|mp4|pcm)$/i;

/** From a fixed list: the type comes from the server, and must not decide about a file name. */
function toExtension(mimeType: string): string {
  return EXTENSIONS[mimeType] ?? '.bin';
}

function findExtensionNotices(name: string, mimeType: string): readonly string[] {
  const extension = extname(name).toLowerCase();
  const right = EXTENSIONS[mimeType];
  const isRight = right === undefined || extension === right || (right === '.jpg' && extension === '.jpeg');
  return isRight || !MEDIA_NAME.test(name) ? [] : [`${name} holds ${mimeType}, whatever its name says`];
}

const MAX_STEM = 40;

/** `A red fox, at night!` → `a-red-fox-at-night`; empty if no letter or digit of ASCII is in the text. */
export function toFileStem(text: string): string {
  const words =
    text
      .slice(0, 1000)
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[a-z\d]+/g) ?? [];
  let stem = '';
  for (const word of words) {
    const longer = stem === '' ? word.slice(0, MAX_STEM) : `${stem}-${word}`;
    if (longer.length > MAX_STEM) break;
    stem = longer;
  }
  // On Windows these are devices, with any extension.
  return /^(?:con|prn|aux|nul|com\d|lpt\d)$/.test(stem) ? `${stem}-1` : stem;
}

/** Raw samples become a WAV file, since players need their rate. */
export function toFileContent({ mimeType, data }: AnswerFile): { readonly mimeType: string; readonly bytes: Buffer } {
  const bytes = Buffer.from(data, 'base64');
  const [type = '', ...parameters] = mimeType
    .toLowerCase()
    .split(';')
    .map((word) => word.trim());
  if (type !== 'audio/l16' && type !== 'audio/pcm') return { mimeType: type, bytes };
  const [, rate = '24000'] = /^rate=(\d{1,7})$/.exec(parameters.find((word) => word.startsWith('rate=')) ?? '') ?? [];
  return { mimeType: 'audio/wav', bytes: Buffer.concat([createWavHeader(bytes.length, Number(rate)), bytes]) };
}

/** 16 bits, one channel. */
function createWavHeader(length: number, rate: number): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + length, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(length, 40);
  return header;
}
