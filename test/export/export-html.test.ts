import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exportSession } from '../../src/export/export.ts';
import { fuzz } from '../support/fuzz.ts';
import { codePoint } from '../support/properties.ts';
import { everywhere, HOSTILE, hostileSession } from './hostile.ts';
import { parseStrictly, type Tag } from './strict-html.ts';

const TAGS = new Set(
  `html head meta title style body a header h1 dl div dt dd p input output button nav details summary ol ul li main article
  h2 h3 h4 h5 h6 time section span code pre figure img figcaption strong em del br blockquote table thead tbody tr th td hr
  footer script`.split(/\s+/),
);
const CLASSES = new Set(
  `skip facts notice finder turn prompt answer said rest markdown written place code language wide tool thought kind about bad
  part fields note tokens unseen task left right center c k t f s d n a`.split(/\s+/),
);

/** Tags and attributes that gmn never writes. */
function foreign(tags: readonly Tag[]): readonly string[] {
  return tags.flatMap(({ name, attributes }) => [
    ...(TAGS.has(name) ? [] : [name]),
    ...Object.keys(attributes).filter((key) => /^on|^style$|^srcdoc$|^action$|^formaction$|^target$/.test(key)),
    ...(attributes.class ?? '').split(' ').filter((word) => word !== '' && !CLASSES.has(word)),
    ...(attributes.href === undefined || isOurAddress(attributes) ? [] : [`href ${attributes.href}`]),
    ...(attributes.src === undefined || isPicture(attributes.src) ? [] : [`src ${attributes.src}`]),
  ]);
}

function isOurAddress({ href = '', rel }: Tag['attributes']): boolean {
  if (/^#(?:turn-\d+|conversation)$/.test(href)) return true;
  return /^(?:https?|mailto):[\x21-\x7e]*$/i.test(href) && rel === 'noreferrer noopener nofollow';
}

function isPicture(src: string): boolean {
  return /^data:image\/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$/.test(src);
}

async function htmlOf(text: string): Promise<string> {
  return [...(await exportSession(everywhere(text), 'html'))].join('');
}

/** Control characters but newline and tab, marks that reorder text, lone surrogates. */
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/u;

async function expectInert(text: string): Promise<void> {
  const html = await htmlOf(text);
  const tags = parseStrictly(html);
  expect(foreign(tags)).toEqual([]);
  expect(
    tags.filter(({ name }) => ['script', 'style', 'title', 'main'].includes(name)).map(({ name }) => name),
  ).toEqual([...['title', 'style', 'main', 'script']]);
  expect(tags.filter(({ name }) => name === 'article')).toHaveLength(2);
  expect(UNSEEN.exec(html)).toBe(null);
}

describe('whatever a session holds, in whatever place, the page holds no markup but ours', () => {
  test.each(HOSTILE.map((text) => [JSON.stringify(text).slice(0, 70), text]))('%s', async (_name, text) => {
    await expectInert(text);
  });

  test('all of it in one page', async () => {
    const html = [...(await exportSession(hostileSession(), 'html'))].join('');
    expect(foreign(parseStrictly(html))).toEqual([]);
  });

  test('any string', async () => {
    await fc.assert(fc.asyncProperty(fc.string({ unit: codePoint, maxLength: 60 }), expectInert), fuzz(8, 5000));
  });

  test('any mixture of markup and Markdown', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '<',
        '>',
        '"',
        "'",
        '&',
        '`',
        '```',
        '~~~',
        '\n',
        '\n\n',
        '[',
        '](',
        ')',
        '![',
        '|',
        '\n|---|---|\n',
      ),
      fc.constantFrom(
        '<script>',
        '</script>',
        '<a href=',
        'javascript:',
        'https://a.example/',
        'data:',
        '\\',
        '* ',
        '> ',
      ),
      fc.constantFrom(
        '&#60;',
        '&lt;',
        '&#x202e;',
        '<!--',
        '-->',
        '<br>',
        '**',
        '_',
        '~',
        '1. ',
        '- [ ] ',
        '    ',
        '\t',
        '\0',
      ),
      fc.string({ maxLength: 5 }),
    );
    const mixture = fc.array(piece, { maxLength: 25, size: 'max' }).map((pieces) => pieces.join(''));
    await fc.assert(fc.asyncProperty(mixture, expectInert), fuzz(8, 5000));
  });

  test('any type and data of an attachment', async () => {
    const types = fc.constantFrom('image/png', 'image/svg+xml', 'text/html', 'image/png;x="', 'IMAGE/PNG');
    const data = fc.oneof(fc.base64String(), fc.string(), fc.constantFrom('', '=', 'AA" onerror="x', 'AA==\n'));
    await fc.assert(
      fc.asyncProperty(types, data, async (mimeType, bytes) => {
        const session = everywhere('x');
        const [first, ...rest] = session.records;
        const parts = [{ inlineData: { mimeType, data: bytes } }];
        const content = { role: 'user', parts } as const;
        const records = [{ kind: 'prompt', content, at: 0 } as const, ...rest];
        expect(first?.kind).toBe('prompt');
        const html = [...(await exportSession({ ...session, records }, 'html'))].join('');
        expect(foreign(parseStrictly(html))).toEqual([]);
      }),
    );
  });
});

test('the strict reading does see what is not escaped', () => {
  const page = (body: string): string => `<!doctype html>\n<html>${body}</html>`;
  expect(parseStrictly(page('<p class="a">x &amp; y</p>'))).toHaveLength(2);
  for (const body of [
    '<p>a < b</p>',
    '<p>a & b</p>',
    '<p>',
    '</p>',
    '<p a=b>x</p>',
    '<p a="`">x</p>',
    '"',
    '<!-- x -->',
  ]) {
    expect(() => parseStrictly(page(body))).toThrow();
  }
  expect(
    foreign(parseStrictly(page('<p onclick="x">x</p><svg></svg><a href="javascript:x">x</a><img src="x">'))),
  ).toEqual([...['onclick', 'svg', 'href javascript:x', 'src x']]);
});
