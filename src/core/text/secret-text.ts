/** Things that look like a credential wherever they stand. The bounds keep the search linear on hostile text. */
const CREDENTIALS = [
  /ya29\.[\w.-]+/,
  /\b1\/\/[\w-]{10,}/,
  /AIza[\w-]{20,}/,
  /\bAQ\.[\w-]{20,}/,
  /GOCSPX-[\w-]+/,
  /gh[pousr]_\w{20,}|github_pat_\w{20,}/,
  /\bsk-[\w-]{16,}|\b[sr]k_(?:live|test)_\w{16,}/,
  /\b(?:AKIA|ASIA)[A-Z\d]{16}\b/,
  /\bxox[a-z]-[\w-]{10,}|\bxapp-[\w-]{10,}/,
  /\bglpat-[\w.-]{16,}/,
  /\b(?:npm|hf)_[A-Za-z\d]{30,}/,
  /\bpypi-[\w-]{40,}/,
  /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]+/,
  /Bearer\s+[\w.~+/=-]+/,
  /\bBasic\s+[\w+/-]{16,}={0,2}/,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\w+/=\s\\]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/,
] as const;

/** `?key=…`, `--token=…`, `"refresh_token": "…"`: the name stays, the value goes. */
const NAMED_VALUES = [
  /((?:key|secret|token|password|passphrase)[\w-]{0,40}[=:])(?:"[^"]*"|'[^']*'|[^\s&]+)/gi,
  /("[\w-]{0,60}(?:key|secret|token|password|passphrase)"\s*:\s*)"(?:[^"\\]|\\.)*"?/gi,
] as const;

/** `https://user:password@host`: up to the last `@` before the path. */
const URL_PASSWORD = /(\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s/?#:@"']{0,200}:)[^\s/?#"']{1,1000}(?=@)/gi;

let credentials: RegExp | undefined;

/** The text with `mark` in the place of everything that looks like a credential. Never throws. */
export function redact(text: string, mark: string): string {
  credentials ??= new RegExp(CREDENTIALS.map(({ source }) => source).join('|'), 'g');
  let result = text.replace(URL_PASSWORD, (_, before: string) => `${before}${mark}`).replace(credentials, () => mark);
  for (const pattern of NAMED_VALUES) result = result.replace(pattern, (_, name: string) => `${name}${mark}`);
  return result;
}
