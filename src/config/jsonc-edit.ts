import { createScanner, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser';
import type { JsonValue } from '../core/json.ts';
import { trimTrailing } from '../core/text/trim.ts';

/** Sets the value at a path, or removes what is there if no value is given. A number is an index of a list. */
export interface Edit {
  readonly path: readonly [string | number, ...(string | number)[]];
  /** If the path ends with a number, the value is appended to the list, whatever the number. */
  readonly value?: JsonValue;
}

/**
 * Makes one change to the text of a JSON file. Comments, order, indentation, line endings and a byte order mark stay as
 * they are. The text must be an object that parses; comments and trailing commas are allowed. Missing objects on the
 * path are created, and a list if the path ends with a number.
 */
export function editJsonc(text: string, edit: Edit): string {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const body = text.slice(mark.length);
  const whole =
    parseTree(body, [], { allowTrailingComma: true })?.type === 'object' ? body : `{}${detectLineEnd(body)}`;
  return mark + (edit.value === undefined ? removeValue(whole, edit.path) : setValue(whole, edit.path, edit.value));
}

function setValue(text: string, path: Edit['path'], value: JsonValue): string {
  const root = parseDocument(text);
  const key = path.at(-1) ?? '';
  const container = findNode(root, path.slice(0, -1));
  if (container?.type === 'array') return insertChild(text, container, (style) => formatJsonValue(value, style));
  if (container?.type !== 'object') {
    const [first, ...rest] = path.slice(0, -1);
    const inner = typeof key === 'number' ? [value] : { [key]: value };
    return first === undefined ? text : setValue(text, [first, ...rest], inner);
  }
  const name = String(key);
  const there = findNode(container, [name]);
  if (there !== undefined) {
    return splice(text, there.offset, there.length, formatJsonValue(value, detectStyle(text, container)));
  }
  return insertChild(
    text,
    container,
    (style) => `${JSON.stringify(name)}:${style.gap}${formatJsonValue(value, style)}`,
  );
}

function removeValue(text: string, path: Edit['path']): string {
  const container = findNode(parseDocument(text), path.slice(0, -1));
  const children = container?.children ?? [];
  const key = path.at(-1);
  const index =
    container?.type === 'array'
      ? Number(key)
      : children.findLastIndex(({ children: [name] = [] }) => name?.value === key);
  const child = children[index];
  if (container === undefined || child === undefined) return text;
  const shorter =
    children.length === 1 && isOnlyContent(text, container, child)
      ? splice(text, container.offset + 1, container.length - 2, '')
      : removeChild(text, children, index);
  // If the key is there twice, the earlier one would now take effect: remove it, too.
  return container.type === 'array' ? shorter : removeValue(shorter, path);
}

function isOnlyContent(text: string, { offset, length }: Node, child: Node): boolean {
  const before = text.slice(offset + 1, child.offset);
  return `${before}${text.slice(child.offset + child.length, offset + length - 1)}`.trim() === '';
}

function removeChild(text: string, children: readonly Node[], index: number): string {
  const child = children[index];
  const before = children[index - 1];
  if (child === undefined) return text;
  const end = child.offset + child.length;
  const comma = findComma(text, end);
  const isLast = index === children.length - 1;
  let result = comma === undefined ? text : splice(text, comma, 1, '');
  result = removeSpan(result, child.offset, end);
  const earlier = isLast && comma === undefined && before ? findComma(text, before.offset + before.length) : undefined;
  return earlier === undefined ? result : splice(result, earlier, 1, '');
}

function removeSpan(text: string, start: number, end: number): string {
  const lead = start - trimTrailing(text.slice(0, start), ' \t').length;
  const tail = /^[ \t]*(\r\n|\n|\r)?/.exec(text.slice(end));
  const isLineStart = start - lead === 0 || /[\r\n]/.test(text[start - lead - 1] ?? '');
  if (isLineStart && tail?.[1] !== undefined)
    return splice(text, start - lead, lead + end - start + tail[0].length, '');
  return splice(text, start, end - start + (/^ */.exec(text.slice(end))?.[0].length ?? 0), '');
}

interface Style {
  /** Indentation of the container's children; undefined if it is on one line. */
  readonly indent: string | undefined;
  readonly unit: string;
  readonly newline: string;
  readonly gap: string;
}

function insertChild(text: string, container: Node, item: (style: Style) => string): string {
  const style = detectStyle(text, container);
  const close = container.offset + container.length - 1;
  const last = container.children?.at(-1);
  const end = last === undefined ? undefined : last.offset + last.length;
  const comma = end === undefined ? undefined : findComma(text, end);
  const inner = text.slice(0, close).trimEnd();
  if (style.indent === undefined) {
    const separator = end === undefined || comma !== undefined ? '' : `,${style.gap}`;
    return splice(text, end === undefined ? close : inner.length, 0, `${separator}${item(style)}`);
  }
  const outer = findLineIndent(text, container.offset);
  const added = `${style.newline}${style.indent}${item(style)}${comma === undefined ? '' : ','}${style.newline}${outer}`;
  const result = splice(text, inner.length, close - inner.length, added);
  return end === undefined || comma !== undefined ? result : splice(result, end, 0, ',');
}

function detectStyle(text: string, container: Node): Style {
  const newline = detectLineEnd(text);
  const unit = /(?:^|[\r\n])([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  const inside = text.slice(container.offset, container.offset + container.length);
  const isOneLine = !/[\r\n]/.test(text.trim()) && text.trim() !== '{}';
  const first = container.children?.[0];
  if (isOneLine || (first !== undefined && !/[\r\n]/.test(inside))) {
    return { indent: undefined, unit: '', newline: '', gap: /":\s/.test(text) ? ' ' : '' };
  }
  const ahead = text.slice(container.offset, first?.offset);
  const isOwnLine = first !== undefined && /[\r\n]/.test(ahead.slice(ahead.trimEnd().length));
  const indent = isOwnLine ? findLineIndent(text, first.offset) : findLineIndent(text, container.offset) + unit;
  return { indent, unit, newline, gap: ' ' };
}

function formatJsonValue(value: JsonValue, { indent, unit, newline, gap }: Style): string {
  if (indent === undefined) {
    const loose = JSON.stringify(value, null, 1).replace(/\n */g, ' ');
    return gap === '' ? JSON.stringify(value) : loose.replace(/^([[{]) /, '$1').replace(/ ([\]}])$/, '$1');
  }
  return JSON.stringify(value, null, unit).replaceAll('\n', () => newline + indent);
}

function findComma(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() : undefined;
}

function parseDocument(text: string): Node {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new TypeError('there is no document to edit');
  return root;
}

/** If a key is there twice, the last one counts, as for every parser. */
function findNode(from: Node, path: readonly (string | number)[]): Node | undefined {
  let node: Node | undefined = from;
  for (const key of path) {
    if (typeof key === 'number') node = node && findNodeAtLocation(node, [key]);
    else node = node?.type === 'object' ? findProperty(node, key) : undefined;
  }
  return node;
}

function findProperty({ children = [] }: Node, key: string): Node | undefined {
  return children.findLast(({ children: [name] = [] }) => name?.value === key)?.children?.[1];
}

function findLineIndent(text: string, offset: number): string {
  const line =
    text
      .slice(0, offset)
      .split(/[\r\n]/)
      .at(-1) ?? '';
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function detectLineEnd(text: string): string {
  return /\r\n|\n/.exec(text)?.[0] ?? '\n';
}

function splice(text: string, offset: number, length: number, replacement: string): string {
  return text.slice(0, offset) + replacement + text.slice(offset + length);
}
