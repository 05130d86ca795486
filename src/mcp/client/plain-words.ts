import { isObject, parseJson } from '../../core/json.ts';

/** The code that some libraries put before a server's own words. */
const CODE = /^(?:MCP error -?\d+: )+/;

/**
 * A server's words for a person: the code before them is taken off, and what a validator gives as JSON, `[{"path":["a"],"message":"Required"}]`,
 * is said in words, `a: Required`. All else stays as it is. Never throws.
 */
export function plainWords(words: string): string {
  const text = words.replace(CODE, '');
  const start = text.search(/\[\s*\{/);
  if (start === -1 || !text.trimEnd().endsWith(']')) return text;
  const issues = parseJson(text.slice(start));
  if (!Array.isArray(issues) || issues.length === 0) return text;
  const said = issues.map(issueWords);
  return said.every((each) => each !== undefined) ? `${text.slice(0, start)}${said.join('; ')}` : text;
}

function issueWords(issue: unknown): string | undefined {
  if (!isObject(issue) || typeof issue.message !== 'string') return undefined;
  const path = Array.isArray(issue.path) ? issue.path.map(String).join('.') : '';
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}
