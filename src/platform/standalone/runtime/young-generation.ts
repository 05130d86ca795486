import type { keepYoungGenerationSmall as keepYoungGenerationSmallNode } from '../../runtime/young-generation.ts';

/** Nothing: the runtime is not V8. */
export const keepYoungGenerationSmall: typeof keepYoungGenerationSmallNode = () => {};
