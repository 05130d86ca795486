/** The tolerant parser: only for files with comments, and to locate an error. */
export const loadJsonc = () => import('./jsonc.ts');

/** `$VAR` in settings: only for files that contain a dollar sign. */
export const loadExpansion = () => import('./variables.ts');

/** Only if there is a `.env` file. */
export const loadEnvFile = () => import('./variables.ts');

/** Only for commands that change a settings file. */
export const loadJsoncEdit = () => import('./jsonc-edit.ts');
