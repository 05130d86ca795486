import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { IMAGE_BUILT_IN } from '../models/table.ts';
import { run as runPrompt } from './prompt/prompt.ts';

const ASPECT_RATIOS = [
  ...['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'],
  ...['1:4', '4:1', '1:8', '8:1'],
] as const;

const IMAGE_SIZES = ['512', '1K', '2K', '4K'] as const;

type PromptOptions = Parameters<typeof runPrompt>[0];

interface ImageOptions extends PromptOptions {
  readonly aspect?: string;
  readonly size?: string;
}

/** Makes a picture, or changes those that are attached. Throws AppError `usage` for a shape that no model makes. */
export async function run({ aspect, size, ...options }: ImageOptions, app: App): Promise<number> {
  const imageSize = size?.toUpperCase();
  if (aspect !== undefined) requireOneOf('--aspect', aspect, ASPECT_RATIOS);
  if (imageSize !== undefined) requireOneOf('--size', imageSize, IMAGE_SIZES);
  const imageConfig = {
    ...(aspect === undefined ? {} : { aspectRatio: aspect }),
    ...(imageSize === undefined ? {} : { imageSize }),
  };
  const shape = Object.keys(imageConfig).length === 0 ? {} : { imageConfig };
  return runPrompt({ ...options, ...shape, builtIn: IMAGE_BUILT_IN, isPicture: true }, app);
}

function requireOneOf(flag: string, value: string, allowed: readonly string[]): void {
  if (allowed.includes(value)) return;
  throw new AppError('usage', `${flag}: "${value}" is not one of ${allowed.join(', ')}`, {
    hint: `Example: ${flag} ${flag === '--size' ? '2K' : '16:9'}`,
  });
}
