import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { AppError } from '../core/error.ts';
import { MAX_DEPTH, nestingError } from '../core/json.ts';

/** Comments and trailing commas are allowed. Throws AppError `config` with `file:line:column` of the first error. */
export function parseJsonc(text: string, file: string): unknown {
  checkNesting(text, file);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return root === undefined ? {} : parseNode(root);
  const what = printParseErrorCode(first.error).replace(/([a-z])([A-Z])/g, '$1 $2');
  throw new AppError('config', `${file}:${formatPosition(text, first.offset)}: ${what.toLowerCase()}`, {
    hint: 'Fix the file: it must be JSON; comments are allowed.',
  });
}

/** `line:column` of the first of these paths that exists in the text; `1:1` if none does. */
export function findPosition(text: string, paths: readonly (readonly string[])[]): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  for (const path of paths) {
    const node = root && findNodeAtLocation(root, [...path]);
    if (node) return formatPosition(text, node.offset);
  }
  return '1:1';
}

function formatPosition(text: string, offset: number): string {
  const before = text.slice(0, offset).split(/\r\n|\n|\r/);
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}

/** Unlike the library's own function, never assigns to `__proto__`. */
function parseNode(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(parseNode);
  if (node.type !== 'object') return node.value;
  return Object.fromEntries(
    (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
      key && value ? [[key.value, parseNode(value)]] : [],
    ),
  );
}

/** The parser is recursive. Brackets in comments are counted, too, which does no harm. */
function checkNesting(text: string, file: string): void {
  let depth = 0;
  for (const [bracket] of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[[\]{}]/g)) {
    if (bracket === '[' || bracket === '{') depth += 1;
    else if (bracket === ']' || bracket === '}') depth -= 1;
    if (depth > MAX_DEPTH) throw nestingError(file);
  }
}
