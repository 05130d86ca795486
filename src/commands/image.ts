import type { App } from '../core/app.ts';
import { IMAGE_BUILT_IN } from '../models/table.ts';
import { run as runPrompt } from './prompt/prompt.ts';

type PromptOptions = Parameters<typeof runPrompt>[0];

interface ImageOptions extends PromptOptions {
  readonly aspect?: string;
  readonly size?: string;
}

/** Makes a picture, or changes those that are attached. */
export async function run({ aspect, size, ...options }: ImageOptions, app: App): Promise<number> {
  const imageConfig = aspect === undefined && size === undefined ? undefined : { aspectRatio: aspect, imageSize: size };
  return runPrompt({ ...options, imageConfig, builtIn: IMAGE_BUILT_IN, isPicture: true }, app);
}
