import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBucketAttachment } from '../../src/input/large-file.ts';
import { ole, zip } from '../support/office.ts';
import { temporary } from '../support/temporary.ts';
import { contentOf, fakeStdin } from './support.ts';

const DOCX = zip('[Content_Types].xml', 'word/document.xml');
const DOCX_TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const READS = { hasUploads: false, hasBuckets: false, hint: '' };
const LACKS = { ...READS, officeGap: { model: 'model-1', reader: 'model-2' } };
const PART = { inlineData: { mimeType: DOCX_TYPE, data: DOCX.toString('base64') } };
const REFUSAL = { fault: 'usage', exitCode: 1, hint: expect.stringContaining('-m model-2') };

/** All ways to name one Office file. */
const ways = () => {
  const cwd = temporary({ 'report.docx': DOCX });
  return {
    'report.docx': [
      { cwd, files: ['report.docx'] },
      { cwd, otherAttachments: { attach: ['report.docx'] } },
    ],
    stdin: [
      { cwd, stdin: fakeStdin('pipe', [DOCX]).stdin },
      { cwd, files: ['-'], stdin: fakeStdin('pipe', [DOCX]).stdin },
      { cwd, otherAttachments: { attach: ['-'] }, stdin: fakeStdin('pipe', [DOCX]).stdin },
    ],
  };
};

test('an Office file is attached with its type to a model that may read it', async () => {
  for (const input of Object.values(ways()).flat()) {
    const { content } = await contentOf({ ...input, prompt: 'go', fileSupport: READS });
    expect(content.parts).toEqual([PART, { text: 'go' }]);
  }
  const { cwd } = ways().stdin[0] as { cwd: string };
  expect(await contentOf({ cwd, prompt: 'see @report.docx', fileSupport: READS })).toMatchObject({
    content: { parts: [PART, { text: 'see @report.docx' }] },
    notices: [expect.stringMatching(/^\+ report\.docx \(/)],
  });
});

test('for a model that does not read it, the error names one that does', async () => {
  for (const [name, inputs] of Object.entries(ways())) {
    for (const input of inputs) {
      await expect(contentOf({ ...input, prompt: 'go', fileSupport: LACKS })).rejects.toMatchObject({
        ...REFUSAL,
        message: `${name} is an Office file, which model-1 does not read`,
      });
    }
  }
  const clipboard = { attach: [], clipboard: async () => DOCX };
  await expect(
    contentOf({ cwd: '/', prompt: 'go', otherAttachments: clipboard, fileSupport: LACKS }),
  ).rejects.toMatchObject(REFUSAL);
});

test('a directory and a mention leave it out, and say which model reads it', async () => {
  const cwd = temporary({ 'd/a.txt': 'A', 'd/b.xls': ole(), 'd/c.docx': DOCX, 'd/d.bin': '\0' });
  const { content, notices } = await contentOf({ cwd, prompt: 'go', files: ['d'], fileSupport: LACKS });
  expect(content.parts).toEqual([{ text: '=== d/a.txt ===\nA\n\ngo' }]);
  expect(notices).toEqual([
    'left out 1 file (neither text nor media that can be sent): d/d.bin',
    'left out 2 files (Office files, which model-1 does not read; -m model-2 does): d/b.xls, d/c.docx',
  ]);
  expect((await contentOf({ cwd, prompt: '@d/c.docx', fileSupport: LACKS })).notices).toEqual([
    'not attached: @d/c.docx is an Office file, which model-1 does not read; -m model-2 does',
  ]);
});

test('--mime-type says what it is, and the service decides', async () => {
  const cwd = temporary({ 'report.docx': DOCX });
  const otherAttachments = { attach: ['report.docx'], mimeType: DOCX_TYPE };
  expect((await contentOf({ cwd, otherAttachments, fileSupport: LACKS })).content.parts).toEqual([PART]);
});

test('one that is too large for a request is uploaded, or refused, like any other', async () => {
  const cwd = temporary({ 'report.docx': DOCX });
  truncateSync(join(cwd, 'report.docx'), 21_000_000);
  const input = { cwd, prompt: 'go', files: ['report.docx'] };
  const uploads = { hasUploads: true };
  expect((await contentOf({ ...input, fileSupport: { ...READS, ...uploads } })).content.parts).toMatchObject([
    { fileData: { mimeType: DOCX_TYPE }, localFile: { bytes: 21_000_000 } },
    { text: 'go' },
  ]);
  await expect(contentOf({ ...input, fileSupport: { ...LACKS, ...uploads } })).rejects.toMatchObject(REFUSAL);
});

test('in a bucket, its ending tells what it is', () => {
  const address = 'gs://bucket/report.docx';
  const buckets = { hasBuckets: true };
  expect(createBucketAttachment(address, { ...READS, ...buckets })).toMatchObject({ mimeType: DOCX_TYPE });
  expect(() => createBucketAttachment(address, { ...LACKS, ...buckets })).toThrow(
    `${address} is an Office file, which model-1 does not read`,
  );
});
