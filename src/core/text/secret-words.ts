import { redact } from './secret-text.ts';

/** What introduces the value: `=`, `:`, `is`, は. */
const IS = '(?:["\'`]?\\s{0,5}(?:[=:：＝]|\\b(?:is|was)\\b|は|が|を)\\s{0,5})';

/** Words of people, where `redact` wants the forms of machines. The bounds keep the search linear on hostile text. */
const TELLING = [
  // `password: …`, `my password is …`, `MYSQL_PWD = …`
  `(?:pass(?:word|wd|phrase|code)|pwd|secret)[\\w-]{0,40}${IS}["'\`]?[^\\s"'\`]`,
  // `api_key = "9f8e…"`, `the token is 9f8e…`: these words have other uses, a value with a digit has few.
  `(?:key|token|credential)[\\w-]{0,40}${IS}["'\`]?(?=[\\w+/=.~-]{0,40}\\d)[\\w+/=.~-]{8}`,
  `\\bpin(?: code)?${IS}\\d{4}`,
  `(?:パスワード|パスフレーズ|パスコード|暗証番号|合言葉|秘密|トークン|キー)${IS}["'\`「『]?[!-~]{4}`,
  // `curl -u name:password`, `--password …`
  `(?:^|\\s)(?:-[uU]\\s{0,5}|--(?:proxy-)?user[\\s=]{1,5})["']?[^\\s:"']{1,200}:[^\\s"']`,
  `(?:^|\\s)--?(?:pass(?:word|wd|phrase)?|token|secret|api-?key)\\s{1,5}["']?[^\\s"'-]`,
  `\\bsshpass\\s{1,5}-p`,
] as const;

let telling: RegExp | undefined;

/** Whether it looks as if a secret stood in what a person has typed; rather once too often. Never throws. */
export function tellsSecret(text: string): boolean {
  telling ??= new RegExp(TELLING.join('|'), 'i');
  return telling.test(text) || redact(text, '') !== text;
}
