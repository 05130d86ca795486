import { isList, isObject, type JsonValue } from '../core/json.ts';
import { redact } from '../core/text/secrets.ts';

const HIDDEN = '‹hidden›';

const SECRET_KEY = /key|secret|token|password|passwd|pwd|passphrase|passcode|authorization|credential|cookie/i;

/** Only as a word: `spinner` and `mapping` are not secret. */
const PIN = /(?:^|[^a-z])pin(?:code)?$/i;
const CAMEL_PIN = /[a-z\d]P(?:in|IN)(?:[cC]ode)?$/;

export function hideSecrets(value: JsonValue, path: readonly string[] = []): JsonValue {
  if (typeof value === 'string') return value !== '' && isSecretSetting(path) ? HIDDEN : redact(value, HIDDEN);
  if (isList(value)) return value.map((item, index) => hideAfterFlag(value[index - 1]) ?? hideSecrets(item, path));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, hideSecrets(item ?? null, [...path, key])]),
  );
}

function hideAfterFlag(before: JsonValue | undefined): string | undefined {
  const isFlag = typeof before === 'string' && /^--?[\w-]*(?:key|secret|token|password|passphrase|-pin)$/i.test(before);
  return isFlag ? HIDDEN : undefined;
}

export function isSecretSetting(path: readonly string[]): boolean {
  if (path[0] !== 'mcpServers') return path.some(isSecretKey);
  // The server's name is not secret. Its variables and headers are, whatever their names.
  const [, , field = '', ...rest] = path;
  return field === 'env' || field === 'headers' || [field, ...rest].some(isSecretKey);
}

export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key) || PIN.test(key) || CAMEL_PIN.test(key);
}
