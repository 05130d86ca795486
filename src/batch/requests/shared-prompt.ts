import { chooseTemplate } from '../../app/template.ts';
import type { Template } from '../../config/templates.ts';
import type { App } from '../../core/app.ts';
import type { Part } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import type { Notify } from '../../core/event.ts';
import type { FileSupport } from '../../core/files.ts';
import { isOfficeType } from '../../core/text/office.ts';
import { listStateDirectories } from '../../core/text/secrets.ts';
import { buildParts } from '../../input/assembly.ts';
import {
  type Attachments,
  createAttachments,
  isAttachment,
  officeError,
  unsendableError,
} from '../../input/attachment.ts';
import { type AttachedItem, addFiles, loadFile } from '../../input/files.ts';
import { findUserHomes } from '../../platform/host.ts';
import { createFence, type Fence } from '../../tools/workspace/fence.ts';
import { hashSetting, type RunSettings } from '../output/run-file.ts';
import type { RowInput } from '../rows/row.ts';
import { createRowPrompt, type RowPrompt } from './row-prompt.ts';

export interface SharedPromptOptions {
  readonly prompt?: string;
  readonly template?: string;
  readonly param?: readonly string[];
  readonly file?: readonly string[];
}

/** What the prompts of all rows share: -p, --template, and the files of -f. */
export class SharedPrompt {
  readonly rows: RowPrompt;
  readonly #app: App;
  readonly #options: SharedPromptOptions;
  readonly #template: Template | undefined;
  #files: readonly AttachedItem[] = [];
  #fence: Promise<Fence> | undefined;

  private constructor(app: App, options: SharedPromptOptions, template: Template | undefined) {
    this.rows = createRowPrompt({ words: options.prompt, template, params: options.param ?? [] });
    this.#app = app;
    this.#options = options;
    this.#template = template;
  }

  /** Throws AppError `usage`. */
  static async open(options: SharedPromptOptions, app: App): Promise<SharedPrompt> {
    const { template } = options;
    return new SharedPrompt(app, options, template === undefined ? undefined : await chooseTemplate(template, app));
  }

  /** Whether rows have no prompt but their own. */
  get isEmpty(): boolean {
    return this.#template === undefined && this.#options.prompt === undefined;
  }

  /** Reads the files of -f. */
  async readFiles(fileSupport: FileSupport, notify: Notify): Promise<void> {
    const { file: files = [] } = this.#options;
    if (files.length === 0) return;
    if (files.includes('-')) {
      throw new AppError('usage', '-f - is not possible: stdin may be the input', { hint: 'Put it into a file.' });
    }
    const attachments = createAttachments(fileSupport);
    const { cwd, env, homes, signal } = this.#app;
    await addFiles(files, { cwd, env, homes, signal, attachments, notify });
    const items: AttachedItem[] = [];
    for (const item of attachments.items) {
      if (!('isUploaded' in item)) items.push(item);
      else
        items.push({ ...item, part: await (await import('../../input/large-file.ts')).createFilePart(item, signal) });
    }
    this.#files = items;
  }

  /** What of it the answers depend on. */
  describe(): RunSettings {
    const files = this.#files.length === 0 ? undefined : JSON.stringify(this.#files.map(toFileIdentity));
    return {
      '-p': hashSetting(this.#options.prompt),
      '--template': hashSetting(this.#template?.body),
      '--param': this.#options.param,
      'the files of -f': hashSetting(files),
    };
  }

  /** The parts in front of the last content of a row with `contents`; for other rows, the whole prompt. Throws AppError `usage`. */
  async toParts(input: RowInput, fileSupport: FileSupport): Promise<readonly Part[]> {
    const text = await this.rows.toPromptText(input);
    const { files = [], contents } = input;
    const isBlank = text === undefined || text.trim() === '';
    // The files of -f are the same for every row, so they alone ask nothing.
    if (isBlank && files.length === 0 && contents === undefined) return [];
    if (files.length === 0 && this.#files.length === 0) return isBlank ? [] : [{ text }];
    const attachments = createAttachments(fileSupport);
    for (const item of this.#files) {
      if (fileSupport.officeGap && isOfficeFile(item)) throw officeError(item.name, fileSupport.officeGap);
      attachments.add(item);
    }
    for (const name of files) attachments.add(await this.#readRowFile(name, attachments));
    return buildParts(attachments, [text], this.#app.signal);
  }

  async #readRowFile(name: string, attachments: Attachments): Promise<AttachedItem> {
    const { cwd, env, homes } = this.#app;
    this.#fence ??= createFence({ roots: [cwd], denied: listStateDirectories(homes(), findUserHomes(env)) });
    const place = await (await this.#fence).place(name, 'read');
    if (place.isSensitive) {
      throw new AppError('usage', `${name} may hold secrets, so a row cannot send it`, {
        hint: 'If you want to send it, name it yourself: -f <path>',
      });
    }
    const { item } = await loadFile(place.path, name, { attachments }, { links: 'never' });
    if (!isAttachment(item)) throw unsendableError(name, item);
    return item;
  }
}

/** The files of -f were read for another model. */
function isOfficeFile(item: AttachedItem): boolean {
  const { mimeType = '' } = 'isUploaded' in item ? item.upload : 'mimeType' in item ? item : {};
  return isOfficeType(mimeType);
}

function toFileIdentity(item: AttachedItem): unknown {
  return 'isUploaded' in item ? { name: item.name, sha256: item.part?.localFile?.sha256 } : item;
}
