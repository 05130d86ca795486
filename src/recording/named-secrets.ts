import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { MARK } from '../core/text/secrets.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { ENCODINGS } from './encodings.ts';
import { isDataKey } from './media.ts';
import { replaceSpans, type Span } from './spans.ts';

const STRONG =
  'pass(?:word|wd|phrase|code)|(?<=[_-])pass(?![a-z])|pwd|secret(?!ar)|パスワード|パスフレーズ|パスコード|暗証番号|合言葉|シークレット|' +
  'passwort|kennwort|mot de passe|contraseña|senha(?![a-z])|пароль|密码|密碼|비밀번호';
/** Beside these words, numbers are counts. */
const COMMON =
  '(?<!page_?|continuation_?)token(?!i[sz])|credential|(?:api|access|auth|private|signing|encryption|account|master)[_ -]?key|トークン';
const IS_STRONG = new RegExp(STRONG, 'i');
const IS_NAME = new RegExp(`${STRONG}|${COMMON}`, 'i');

/**
 * `"password": `, `**Password:** `, `| password | `, `<password>`, `--password `, `password is `, and before those the longer
 * `password: string = `, `password: |`, `name="password" value=`, `<key>password</key><string>`, `login me password `
 */
const BETWEEN =
  '\\??:\\s{0,3}[^\\n:="\'`]{1,40}=\\s{0,3}(?=\\\\{0,7}["\'`])|:\\s?[|>][+-]?\\d?[ \\t]{0,9}(?:\\n|\\\\{1,7}n)\\s{0,40}|' +
  '(?:\\\\{0,7}["\'])?(?:\\s[^<>\\n]{0,200}?)?\\svalue\\s?=\\s?(?=\\\\{0,7}["\'])|</\\w{1,40}>(?:\\s|\\\\{1,7}n){0,40}<\\w{1,40}>|' +
  '(?<=\\blogin\\s\\S{1,60}\\s{1,5}\\w{1,20})\\s{1,5}|\\s?->\\s?|' +
  '(?:\\\\{0,7}["\'`*)\\]]){0,3}\\??\\s{0,5}(?:[!=]?={1,2}>?|:=|:(?!:)|[：＝]|(?<=\\|[^|\\n]{1,80})\\||(?<=<[^<>\\s]{1,60})>|\\b(?:is|was)(?=\\s)|は|が)[*]{0,2}\\s{0,5}|(?<=--[^\\s]{1,60})\\s{1,5}';
/** The bounds keep matching linear on hostile text. */
const NAMED = new RegExp(
  `(?<name>${STRONG}|${COMMON})[\\w-]{0,40}?(?<between>${BETWEEN})` +
    '(?:(?<quote>\\\\{0,7}["\'`])(?<quoted>(?:(?!\\k<quote>(?!\\w))(?:\\\\.|[^\\n])){1,2000})\\k<quote>' +
    '|[「『](?<cornered>[^」』\\n]{1,2000})' +
    '|\\\\{0,7}["\'`]?(?<bare>(?![[{(=>])(?:[^\\s"\'`\\\\<|]|\\\\(?![nrtu"\'])){1,2000}))',
  'dgi',
);

const REFERENCE =
  /^(?:\$|%\w+%$|<|\{\{|(?:process\.)?env[.[]|os\.(?:environ|getenv)|(?:‹redacted›|null|nil|none|undefined|true|false|str|string|any|number|bytes|required|optional|\*+|…|\.{3})[,;:)\]}.?]*$)/i;
const EXPRESSION =
  /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)*[([]|^(?:this|self|req|request|args|options|config|ctx|props|state|params)\??\./;
const COUNT = /^\d{1,7}(?:[.,]\d{1,7}){0,3}[,;)\]}]*$/;

/** How often one encoding may be inside another. */
const NESTING = 3;

/** Replaces what stands beside words such as `password` and `token`: fields by their name, and texts, also encoded ones. */
export function redactNamed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return replaceSpans(value, findNamedSecrets(value));
  if (isList(value)) {
    const [name, item] = value;
    // An entry of a list of pairs.
    const isPair = value.length === 2 && typeof name === 'string' && /^\S{1,60}$/.test(name);
    return isPair && typeof item === 'string' ? [name, redactNamedValue(item, name)] : value.map(redactNamed);
  }
  if (!isObject(value)) return value;
  const object = value as JsonObject;
  const entries = Object.entries(object).map(([key, item]) => [key, redactField(object, key, item)]);
  return Object.fromEntries(entries);
}

function redactField(object: JsonObject, key: string, item: JsonValue | undefined): JsonValue | undefined {
  // The tokens of a text, and the names of parameters, are no secrets.
  if (item === undefined || key === 'logprobsResult' || /signature$/i.test(key)) return item;
  if (key === 'properties' && isObject(item)) {
    return Object.fromEntries(Object.entries(item as JsonObject).map(([name, it]) => [name, it && redactNamed(it)]));
  }
  if (typeof item === 'string' && isDataKey(key)) return key === 'data' ? redactData(item) : item;
  const { name = object.key } = object;
  // An entry of a form, or of a list of variables.
  const isEntry = key === 'value' && typeof name === 'string';
  return redactNamedValue(item, isEntry ? name : key);
}

function redactNamedValue(item: JsonValue, name: string): JsonValue {
  if (!IS_NAME.test(name) || /^tokens$/i.test(name)) return redactNamed(item);
  if (typeof item === 'string') return isSecretValue(item, name) ? MARK : item;
  if (typeof item === 'number') return IS_STRONG.test(name) ? MARK : item;
  if (isList(item)) return item.map((one) => redactNamedValue(one, name));
  if (!isObject(item)) return redactNamed(item);
  const object = item as JsonObject;
  const entries = Object.entries(object).map(([key, inner]) => {
    const isValue = key === 'value' && inner !== undefined;
    return [key, isValue ? redactNamedValue(inner, name) : redactField(object, key, inner)];
  });
  return Object.fromEntries(entries);
}

/** In base64; bytes that are no text stay. */
function redactData(data: string): string {
  const bytes = Buffer.from(data, 'base64');
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf16le' : 'utf8';
  const text = bytes.toString(encoding);
  if (text.includes('\uFFFD')) return data;
  const redacted = replaceSpans(text, findNamedSecrets(text));
  return redacted === text ? data : Buffer.from(redacted, encoding).toString('base64');
}

/** `$TOKEN`, `string` and `null` give nothing away. */
function isSecretValue(value: string, name: string): boolean {
  const isCount = !IS_STRONG.test(name) && COUNT.test(value);
  return value.trim() !== '' && !REFERENCE.test(value.trim()) && !isCount;
}

/** What stands beside a word such as `password`, also where the text is encoded. In order, without overlaps. */
export function findNamedSecrets(text: string, depth = NESTING): readonly Span[] {
  const spans = [...text.matchAll(NAMED)].flatMap((match): readonly Span[] => {
    const { name = '', between = '', quoted, cornered, bare = '' } = match.groups ?? {};
    const value = quoted ?? cornered ?? trimTrailing(bare, ',;)]}.');
    if (!isSecretValue(value, name)) return [];
    if (bare !== '' && /\s/.test(between) && EXPRESSION.test(value)) return [];
    // "the password is wrong"
    if (/\b(?:is|was)\s*$/.test(between) && !/[^A-Za-z.]/.test(value)) return [];
    const { quoted: one, cornered: two, bare: three } = match.indices?.groups ?? {};
    const [start = 0] = one ?? two ?? three ?? [];
    return [{ start, end: start + value.length }];
  });
  if (depth === 0) return spans;
  const rest = replaceSpans(
    text,
    spans.map((span) => ({ ...span, text: '*'.repeat(span.end - span.start) })),
  );
  return [...spans, ...findEncoded(rest, depth)].sort((a, b) => a.start - b.start);
}

function findEncoded(text: string, depth: number): readonly Span[] {
  const found: Span[] = [];
  for (const [pattern, decode] of ENCODINGS) {
    for (const { 0: run, index } of text.matchAll(pattern)) {
      const decoded = decode(run);
      const span = { start: index, end: index + run.length };
      const isSeen = found.some(({ start, end }) => start < span.end && span.start < end);
      if (!isSeen && decoded !== run && findNamedSecrets(decoded, depth - 1).length > 0) found.push(span);
    }
  }
  return found;
}
