/** The tolerant parser: only for files with comments, and to find the place of a fault. */
export const loadJsonc = () => import('./jsonc.ts');

/** `$VAR` in settings: only for files that hold a dollar sign. */
export const loadExpansion = () => import('./variables.ts');

/** Only if there is a `.env` file. */
export const loadEnvFile = () => import('./variables.ts');

/** Changes to a settings file: only for the commands that make them. */
export const loadJsoncEdit = () => import('./jsonc-edit.ts');
