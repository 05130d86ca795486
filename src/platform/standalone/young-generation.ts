import type { keepYoungGenerationSmall as keepYoungGenerationSmallNode } from '../young-generation.ts';

/** Nothing: the runtime is not V8. */
export const keepYoungGenerationSmall: typeof keepYoungGenerationSmallNode = () => {};
