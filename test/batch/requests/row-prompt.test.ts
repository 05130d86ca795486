import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRowPrompt, type RowPromptOptions } from '../../../src/batch/requests/row-prompt.ts';
import { fieldsRow, type RowInput, textRow } from '../../../src/batch/rows/row.ts';
import type { Template } from '../../../src/config/templates.ts';
import type { AppError } from '../../../src/core/error.ts';
import type { JsonObject } from '../../../src/core/json.ts';

function toInput(row: JsonObject | string): RowInput {
  const raw = { index: 0, lineNumber: 1, text: JSON.stringify(row) };
  return (typeof row === 'string' ? textRow(raw, row) : fieldsRow(raw, row)).input as RowInput;
}

function toTemplate(body: string, kind: Template['kind'] = 'markdown'): Template {
  return { name: 'mood', file: 'mood.md', kind, body, defaults: new Map([['style', 'plain']]) };
}

function ask(row: JsonObject | string, options: Partial<RowPromptOptions>): Promise<string | undefined> {
  const prompt = createRowPrompt({ words: undefined, template: undefined, params: [], ...options });
  return prompt.toPromptText(toInput(row));
}

async function findFault(row: JsonObject | string, options: Partial<RowPromptOptions>) {
  const { message, hint } = (await ask(row, options).catch((thrown: unknown) => thrown)) as AppError;
  return [message, hint];
}

const ROW = { id: 'a', city: 'Rome', 'Review Text': 'good', stars: 5, tags: ['x'], gone: null };

test.for([
  ['How is {{city}}, {{ stars }}?', ROW, 'How is Rome, 5?'],
  ['{{Review Text}} {{\ttags }}{{gone}} of {{id}}', ROW, 'good ["x"] of a'],
  ['{{都市}} is {{a.b}} {{c-d}}', { 都市: '東京', 'a.b': 'b', 'c-d': 'd' }, '東京 is b d'],
  ['{{Price (USD)}} {{zip/code}} {{2024}}', { 'Price (USD)': 1, 'zip/code': 'z', 2024: 'y' }, '1 z y'],
  ['Only {{2024}}', { 2024: 'y' }, 'Only y'],
  ['Positive? {{prompt}} Say so.', 'fine', 'Positive? fine Say so.'],
  ['Positive?', 'fine', 'Positive?\n\nfine'],
  ['{{city}}:', { city: 'Rome', prompt: 'nice?' }, 'Rome:\n\nnice?'],
  ['Return {{"a": 1}} and {} for {{{city}}}', ROW, 'Return {{"a": 1}} and {} for {Rome}'],
  ['What is a {{make}} {{model}}?', { make: 'VW', model: 'Golf' }, 'What is a VW Golf?'],
  ['Write a haiku.', { model: 'pro' }, 'Write a haiku.'],
  ['{{stdin}}', { stdin: 'a column' }, 'a column'],
] as const)('%s', async ([words, row, text]) => {
  expect(await ask(row, { words })).toBe(text);
});

test('-p and a template are filled from the same row; a parameter holds for all rows, and that of a row comes first', async () => {
  const template = toTemplate('{{city}} in {{season}}, {{style}}; {{ x.y }}');
  const params = ['season=May'];
  expect(await ask(ROW, { template, params })).toBe('Rome in May, plain; {{ x.y }}');
  expect(await ask({ ...ROW, season: 'June' }, { template, params, words: '{{stars}} stars:' })).toBe(
    '5 stars:\n\nRome in June, plain; {{ x.y }}',
  );
  expect(await ask(ROW, { words: '{{city}} in {{season}}', params })).toBe('Rome in May');
  expect(await ask('the mail', { template: toTemplate('Sum up: {{args}}', 'command') })).toBe('Sum up: the mail');
});

const UNUSED = 'no column of the row is in the prompt, so all rows would be asked the same; its columns: ';

test.for([
  ['Positive?', ROW, `${UNUSED}id, city, Review Text, stars, tags, gone`, "-p 'Positive? {{tags}}'"],
  ['Is {city} nice?', { city: 'Rome', id: '1' }, `${UNUSED}city, id`, "-p 'Is {{city}} nice?'"],
  ['{{Price (EUR)}}', { 'Price (USD)': '1' }, '-p has {{Price (EUR)}}', 'Did you mean {{Price (USD)}}?'],
  ['Joke', { id: 'x' }, `${UNUSED}id`, '{{id}}'],
  ['In {{ctiy}}', ROW, '-p has {{ctiy}}, and the row has no such column; its columns: id, city', '{{city}}?'],
  ['In {{City}}', ROW, '-p has {{City}}', 'Did you mean {{city}}?'],
  ['In {{review text}}', ROW, '-p has {{review text}}', 'Did you mean {{Review Text}}?'],
  ['{{country}} {{city}}', ROW, '-p has {{country}}', "--param 'country=…'"],
  ['{{line}}', 'a line', '-p has {{line}}, and the row has no such column; its columns: prompt', 'is {{prompt}}.'],
  ['{{prompt}}', ROW, '-p has {{prompt}}', 'Name one of them'],
] as const)('refused: %s', async ([words, row, message, hint]) => {
  expect(await findFault(row, { words })).toEqual([expect.stringContaining(message), expect.stringContaining(hint)]);
});

test('a template of which nothing comes from the row is refused, and so is a parameter without a place', async () => {
  expect(await findFault(ROW, { template: toTemplate('Positive?') })).toEqual([
    expect.stringContaining(UNUSED),
    'Add a column to the template mood, for example {{tags}}',
  ]);
  expect(() => createRowPrompt({ words: 'Hi', template: undefined, params: ['a=b'] })).toThrow('-p has no {{a}}');
  expect(() => createRowPrompt({ words: undefined, template: undefined, params: ['a=b'] })).toThrow(
    '--param needs --template, or a placeholder in -p',
  );
});

test('whatever the values are, each is inserted once, as it is', async () => {
  const value = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      '{{b}}',
      '{{ a }}',
      '{{prompt}}',
      '!{ls}',
      '@{x}',
      '@notes.txt',
      '$&',
      '$1',
      '{{',
      '}}',
      '{{args}}',
    ),
  );
  const piece = fc.oneof(
    fc.constantFrom({ name: 'a' }, { name: 'b' }, { name: 'Ä b' }, { name: 'prompt' }),
    fc.string().map((text) => ({ text: text.replaceAll(/[{}]/g, '') })),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece),
      fc.record({ a: value, b: value, 'Ä b': value, prompt: value }),
      fc.constantFrom('', ' ', '\t'),
      async (pieces, row, space) => {
        const join = (fill: (name: keyof typeof row) => string): string =>
          pieces.map((each) => ('name' in each ? fill(each.name as keyof typeof row) : each.text)).join('');
        const words = join((name) => `{{${space}${name}${space}}}`);
        const filled = join((name) => row[name]);
        const isPlaced = pieces.some((each) => 'name' in each && each.name === 'prompt');
        expect(await ask(row, { words })).toBe(isPlaced ? filled : `${filled}\n\n${row.prompt}`);
      },
    ),
  );
});
