import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';

/** What is shown in the place of a secret. */
export const HIDDEN = '‹hidden›';

const SECRET_KEY = /key|secret|token|password|passwd|authorization|credential|cookie/i;

/** Things that look like a credential wherever they stand, and `--token=…` and the like on a command line. */
const SECRET_TEXT =
  /ya29\.[\w.-]+|1\/\/[\w-]{10,}|AIza[\w-]{20,}|gh[pousr]_\w{20,}|sk-[\w-]{16,}|eyJ[\w-]+\.[\w-]+\.[\w-]+|GOCSPX-[\w-]+|Bearer\s+[\w.~+/=-]+/g;
const SECRET_ARGUMENT = /((?:key|secret|token|password)[\w-]*[=:])[^\s&]+/gi;

/** The document for people's eyes: every value that is, or may be, a secret is hidden. */
export function withoutSecrets(value: JsonValue, path: readonly string[] = []): JsonValue {
  if (typeof value === 'string') return value !== '' && isSecret(path) ? HIDDEN : hiddenInText(value);
  if (isList(value)) return value.map((item, index) => afterFlag(value[index - 1]) ?? withoutSecrets(item, path));
  if (!isObject(value)) return value;
  return withoutSecretValues(value, path);
}

function withoutSecretValues(object: JsonObject, path: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, item]) => [key, withoutSecrets(item ?? null, [...path, key])]),
  );
}

/** `["--token", "abc"]` */
function afterFlag(before: JsonValue | undefined): string | undefined {
  const isFlag = typeof before === 'string' && /^--?[\w-]*(?:key|secret|token|password)$/i.test(before);
  return isFlag ? HIDDEN : undefined;
}

function hiddenInText(text: string): string {
  return text.replace(SECRET_TEXT, HIDDEN).replace(SECRET_ARGUMENT, `$1${HIDDEN}`);
}

function isSecret(path: readonly string[]): boolean {
  if (path[0] !== 'mcpServers') return path.some((key) => SECRET_KEY.test(key));
  // Not the server's name; but a server's variables and headers are where tokens live, whatever they are called.
  const [, , field = '', ...rest] = path;
  return field === 'env' || field === 'headers' || [field, ...rest].some((key) => SECRET_KEY.test(key));
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
