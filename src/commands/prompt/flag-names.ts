import type { Env } from '../../core/io.ts';

const VARIABLES: ReadonlyMap<string, string> = new Map([
  ['timeout', 'GMN_TIMEOUT'],
  ['demo', 'GMN_DEMO'],
  ['noSession', 'GMN_NO_SESSION'],
  ['outputFormat', 'GMN_OUTPUT_FORMAT'],
  ['outputDialect', 'GMN_OUTPUT_DIALECT'],
  ['render', 'GMN_RENDER'],
  ['debug', 'GMN_DEBUG'],
  ['debugFile', 'GMN_LOG_FILE'],
]);

/**
 * Whether an option may come from the environment, so that it is not a mistake on the command line. A value that
 * differs from the variable's was typed.
 */
export function isFromEnv(option: string, env: Env, value?: unknown): boolean {
  const variable = VARIABLES.get(option);
  const text = variable === undefined ? '' : (env[variable] ?? '');
  return text !== '' && (typeof value !== 'string' || value === text);
}

/** `outputFormat` → `--output-format`. */
export function toFlagName(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
