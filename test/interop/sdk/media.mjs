import { openSdk } from './client.mjs';
import { decodePicture } from './png.mjs';

const IMAGE_MODEL = 'gemini-3.1-flash-image';
const MODEL = 'gemini-3.8-flash';

/**
 * What Google's SDK, installed in `cache`, gets from the offline model at `url`: pictures and how they are edited, code that
 * the service ran, pages that it read, tiers and vectors. One row for each.
 */
export async function mediaRows({ cache, version, url }) {
  const ai = await openSdk({ cache, url });
  const rows = [];
  const add = async (what, check) => {
    const detail = await check().then(
      (found) => (found === true ? '' : `it got ${JSON.stringify(found)}`),
      (thrown) => String(thrown?.message ?? thrown),
    );
    rows.push({ client: `@google/genai ${version}`, mode: 'api key', what, ok: detail === '', detail });
  };
  await add('a picture of the asked shape', async () => {
    const config = { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9', imageSize: '2K' } };
    const answer = await ai.models.generateContent({ model: IMAGE_MODEL, contents: 'a fox', config });
    const { width, height } = decodePicture(Buffer.from(answer.data ?? '', 'base64'));
    return (width === 228 && height === 128) || [width, height];
  });
  await add('a chat edits its picture: the signature goes back', async () => {
    const chat = ai.chats.create({ model: IMAGE_MODEL });
    const first = await chat.sendMessage({ message: 'a fox' });
    const second = await chat.sendMessage({ message: 'make it winter' });
    const [one, two] = [first, second].map(({ data }) => decodePicture(Buffer.from(data ?? '', 'base64')));
    return !one.rows.equals(two.rows);
  });
  await add('a picture without its signature is refused', async () => {
    const { candidates } = await ai.models.generateContent({ model: IMAGE_MODEL, contents: 'a fox' });
    const [{ inlineData }] = candidates[0].content.parts;
    const contents = [
      { role: 'user', parts: [{ text: 'a fox' }] },
      { role: 'model', parts: [{ inlineData }] },
      { role: 'user', parts: [{ text: 'make it winter' }] },
    ];
    const status = await ai.models.generateContent({ model: IMAGE_MODEL, contents }).then(
      () => 200,
      (thrown) => thrown.status,
    );
    return status === 400 || status;
  });
  await add('code that the service ran, and its output', async () => {
    const config = { tools: [{ codeExecution: {} }] };
    const answer = await ai.models.generateContent({ model: MODEL, contents: 'sum', config });
    const { executableCode, codeExecutionResult, text } = answer;
    const isWhole = executableCode?.includes('print(total)') && codeExecutionResult === '55\n';
    return (
      (isWhole && text === 'demo: I add them up.\ndemo: the sum is 55.') || {
        executableCode,
        codeExecutionResult,
        text,
      }
    );
  });
  await add('the pages that the service read, streamed', async () => {
    const config = { tools: [{ urlContext: {} }] };
    const contents = 'compare https://a.example/ and https://paywall.example/';
    let seen;
    for await (const chunk of await ai.models.generateContentStream({ model: MODEL, contents, config })) {
      seen = chunk.candidates?.[0]?.urlContextMetadata?.urlMetadata ?? seen;
    }
    const statuses = seen?.map(({ urlRetrievalStatus }) => urlRetrievalStatus.replace('URL_RETRIEVAL_STATUS_', ''));
    return statuses?.join() === 'SUCCESS,PAYWALL' || seen;
  });
  await add('a tier, named in the header of the answer', async () => {
    const answer = await ai.models.generateContent({ model: MODEL, contents: 'hi', config: { serviceTier: 'flex' } });
    const headers = answer.sdkHttpResponse?.headers ?? {};
    return headers['x-gemini-service-tier'] === 'flex' || headers;
  });
  await add('vectors of two texts', async () => {
    const config = { outputDimensionality: 8, taskType: 'RETRIEVAL_DOCUMENT' };
    const { embeddings } = await ai.models.embedContent({
      model: 'gemini-embedding-001',
      contents: ['a', 'b'],
      config,
    });
    return embeddings?.map(({ values }) => values?.length).join() === '8,8' || embeddings;
  });
  return rows;
}
