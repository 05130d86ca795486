import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { FAULTS } from '../src/core/error.ts';

function page(name: string): string {
  return readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');
}

test('docs/output.md lists every fault with its code and type', () => {
  const rows = [...page('output.md').matchAll(/^\| (\w+) \| (\d+) \| (\w+) \|/gm)].map(
    ([, fault, code, type]) => [fault, Number(code), type] as const,
  );
  const expected = Object.entries(FAULTS).map(([fault, { exitCode, type }]) => [fault, exitCode, type]);
  expect(rows).toEqual(expected);
});

test('docs/dev/benchmarks.md rounds its budgets', () => {
  expect(page('dev/benchmarks.md').match(/at (?:most|least) \d+\.\d{3,}/g)).toBeNull();
});

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const pages = [
  'README.md',

  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** Without what is shown as code, which is not linked and has no headings. */
function prose(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replace(/^(```+)[\s\S]*?^\1/gm, '');
}

/** The anchors of a page as GitHub makes them: lower case, no punctuation, hyphens for spaces, numbered if they recur. */
function anchorsOf(path: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  const anchors = [...prose(path).matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading = '']) => {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set(anchors);
}

/** Why a link leads nowhere; undefined if it leads somewhere. */
function faultOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = decodeURI(link).split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, target))) return `${page}: ${link} (no such file)`;
  if (anchor === undefined || !target.endsWith('.md')) return undefined;
  return anchorsOf(target).has(anchor) ? undefined : `${page}: ${link} (no such heading)`;
}

/** The relative links of a page. */
function linksOf(page: string): readonly string[] {
  const text = prose(page).replace(/`[^`\n]*`/g, '');
  const found = [...text.matchAll(/\]\(<?([^)>\s]+)>?(?: "[^"]*")?\)/g), ...text.matchAll(/^\[[^\]]+\]: +(\S+)/gm)];
  return found.map(([, link = '']) => link).filter((link) => !/^[a-z][a-z+.-]*:/i.test(link));
}

test('every relative link of the pages leads to a file, and every anchor to a heading', () => {
  const links = pages.flatMap((page) => linksOf(page).map((link) => ({ page, link })));
  expect(links.length).toBeGreaterThan(10);
  expect(links.flatMap(({ page, link }) => faultOf(page, link) ?? [])).toEqual([]);
});

test('every page is found from docs/README.md, every decision from the list of decisions', () => {
  const lists = ['README.md', 'dev/decisions/README.md'].map((name) => join('docs', name));
  const found = new Set(
    lists.flatMap((list) => linksOf(list).map((link) => join(dirname(list), link.replace(/#.*/, '')))),
  );
  expect(pages.filter((page) => page !== lists[0] && !found.has(page))).toEqual([]);
});
