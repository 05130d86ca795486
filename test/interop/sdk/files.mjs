import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSdk } from './client.mjs';

const MIME = 'video/mp4';

/** The Files API of the offline model, used by Google's SDK: uploads in several chunks, asks, lists, deletes. One row for each. */
export async function fileRows({ cache, version, url, cwd }) {
  const ai = await openSdk({ cache, url });
  const path = join(cwd, 'talk.mp4');
  const content = Buffer.alloc(20_000_000, 'frame\0');
  writeFileSync(path, content);
  let file;
  const steps = [
    [
      'uploads 20 MB in chunks',
      async () => {
        file = await ai.files.upload({ file: path, config: { mimeType: MIME, displayName: 'talk.mp4' } });
        const hash = Buffer.from(file.sha256Hash, 'base64').toString();
        return hash === createHash('sha256').update(content).digest('hex') && file.sizeBytes === String(content.length);
      },
    ],
    ['sees that it is ACTIVE', async () => (await ai.files.get({ name: file.name })).state === 'ACTIVE'],
    [
      'asks about it',
      async () => {
        const parts = [{ fileData: { fileUri: file.uri, mimeType: MIME } }, { text: 'what is it?' }];
        const contents = [{ role: 'user', parts }];
        const { text } = await ai.models.generateContent({ model: 'gemini-2.5-flash', contents });
        return text === 'demo: I see 1 video (video/mp4, talk.mp4, 20.0 MB): what is it?';
      },
    ],
    [
      'lists it',
      async () => {
        const names = [];
        for await (const each of await ai.files.list()) names.push(each.name);
        return names.includes(file.name);
      },
    ],
    [
      'deletes it, and gets an error for it after that',
      async () => {
        await ai.files.delete({ name: file.name });
        return ai.files.get({ name: file.name }).then(
          () => false,
          (thrown) => thrown.status === 403,
        );
      },
    ],
  ];
  const rows = [];
  for (const [what, run] of steps) {
    const result = await run().catch((thrown) => thrown);
    const detail = result === true ? '' : String(result);
    rows.push({ client: `@google/genai ${version}`, mode: 'api key', what, ok: result === true, detail });
  }
  return rows;
}
