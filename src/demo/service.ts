import type { JsonObject } from '../core/json.ts';
import type { Answer } from './answer.ts';
import { drawPicture } from './picture.ts';
import { type DemoRequest, joinPartTexts } from './request.ts';

const CODE = 'total = sum(range(1, 11))\nprint(total)';

/** codeExecution runs a little Python: it fails if the prompt says `fail`, draws if it says `chart`; urlContext reads pages. */
export function findServiceAnswer(request: DemoRequest): Answer | undefined {
  const prompt = joinPartTexts(request.contents.at(-1)?.parts ?? []);
  if (request.hasCodeExecution) return { chunks: createCodeChunks(prompt) };
  if (!request.hasUrlContext) return undefined;
  const pages = listPages(prompt).length;
  return { chunks: [{ parts: [{ text: `demo: I read ${pages} ${pages === 1 ? 'page' : 'pages'}.` }] }] };
}

function createCodeChunks(prompt: string): Answer['chunks'] {
  const hasFailed = /\bfail/i.test(prompt);
  const outcome = hasFailed ? 'OUTCOME_FAILED' : 'OUTCOME_OK';
  const output = hasFailed ? "NameError: name 'total' is not defined\n" : '55\n';
  const data = drawPicture(prompt, { aspectRatio: '4:3' }).toString('base64');
  const chart = /\bchart\b/i.test(prompt) ? [{ parts: [{ inlineData: { mimeType: 'image/png', data } }] }] : [];
  return [
    { parts: [{ text: 'demo: I add them up.\n' }] },
    { parts: [{ executableCode: { language: 'PYTHON', code: CODE, id: 'demo-code' } }] },
    { parts: [{ codeExecutionResult: { outcome, output, id: 'demo-code' } }] },
    ...chart,
    { parts: [{ text: hasFailed ? 'demo: that failed.' : 'demo: the sum is 55.' }] },
  ];
}

/** Pages whose address says `paywall`, `missing` or `unsafe` are not read. */
export function toUrlMetadata(request: DemoRequest): JsonObject {
  const urlMetadata = listPages(joinPartTexts(request.contents.at(-1)?.parts ?? [])).map((retrievedUrl) => ({
    retrievedUrl,
    urlRetrievalStatus: `URL_RETRIEVAL_STATUS_${chooseUrlStatus(retrievedUrl)}`,
  }));
  return { urlMetadata };
}

function chooseUrlStatus(url: string): string {
  if (url.includes('paywall')) return 'PAYWALL';
  if (url.includes('unsafe')) return 'UNSAFE';
  return url.includes('missing') ? 'ERROR' : 'SUCCESS';
}

function listPages(prompt: string): readonly string[] {
  return [...new Set(prompt.match(/https?:\/\/[^\s,)"']+/g))].slice(0, 20);
}
