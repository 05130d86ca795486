import { expect, test } from 'vitest';
import { drawPicture } from '../../src/demo/picture.ts';
import { decodePng } from '../support/png.ts';
import { ask, testDemo } from './support.ts';

const IMAGE = '/v1beta/models/gemini-3.1-flash-image:generateContent';
const FLASH = '/v1beta/models/gemini-3.8-flash:generateContent';

// biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like
const body = async (response: Response): Promise<any> => response.json();

test.for([
  [{}, 64, 64],
  [{ aspectRatio: '16:9', imageSize: '512' }, 57, 32],
  [{ aspectRatio: '1:8' }, 64, 512],
  [{ imageSize: '4K' }, 256, 256],
] as const)('%j is a valid PNG of %i by %i', ([shape, width, height]) => {
  expect(decodePng(drawPicture('a fox', shape))).toMatchObject({ width, height });
  expect(Buffer.from(drawPicture('a fox', shape)).equals(drawPicture('a fox', shape))).toBe(true);
});

test('a picture goes back with its signature, or is refused', async () => {
  const demo = await testDemo();
  const { candidates } = await body(await demo.post(IMAGE, ask('a fox')));
  const [picture] = candidates[0].content.parts;
  const again = (part: object) => ({
    contents: [
      { role: 'user', parts: [{ text: 'a fox' }] },
      { role: 'model', parts: [part] },
      { role: 'user', parts: [{ text: 'make it winter' }] },
    ],
  });
  const edited = await body(await demo.post(IMAGE, again(picture)));
  expect(edited.candidates[0].content.parts[0].inlineData.data).not.toBe(picture.inlineData.data);
  const { thoughtSignature: _, ...unsigned } = picture;
  for (const wrong of [unsigned, { ...picture, thoughtSignature: 'c2ln' }]) {
    const refused = await demo.post(IMAGE, again(wrong));
    expect([refused.status, (await body(refused)).error.message]).toEqual([400, expect.stringMatching(/signature/)]);
  }
});

test('the tier that answered is in a header, if one was asked for', async () => {
  const demo = await testDemo({ faults: ['tier-downgradex1'] });
  const tiers: (string | null)[] = [];
  for (const more of [{}, { serviceTier: 'priority' }, { service_tier: 'flex' }]) {
    const response = await demo.post(FLASH, ask('hi', more));
    tiers.push(response.headers.get('x-gemini-service-tier'));
    await response.text();
  }
  expect(tiers).toEqual([null, 'standard', 'flex']);
  expect((await demo.post(FLASH, ask('hi', { serviceTier: 'gold' }))).status).toBe(400);
});

test('code and pages are what the tools allow', async () => {
  const demo = await testDemo();
  const code = await body(await demo.post(FLASH, ask('a chart, please', { tools: [{ code_execution: {} }] })));
  const kinds = code.candidates[0].content.parts.flatMap((part: object) => Object.keys(part));
  expect(kinds).toEqual(expect.arrayContaining(['executableCode', 'codeExecutionResult', 'inlineData', 'text']));
  const pages = await body(await demo.post(FLASH, ask('see https://a.example/', { tools: [{ urlContext: {} }] })));
  expect(pages.candidates[0].urlContextMetadata.urlMetadata).toEqual([
    { retrievedUrl: 'https://a.example/', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' },
  ]);
});
