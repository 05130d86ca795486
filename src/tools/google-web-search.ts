import { plural } from '../core/text/format.ts';
import { errorResult } from '../core/tool.ts';
import { defineTool, succeed, type ToolContext } from './define.ts';

/** Never asked about: the query goes to Google, which gets the whole conversation anyway. */
export const googleWebSearch = defineTool({
  name: 'google_web_search',
  classNames: ['WebSearchTool'],
  claudeNames: ['WebSearch'],
  set: 'all',
  about: 'searches the web through the model, with sources',
  description: 'Searches the web with Google and gives an answer with its sources, which web_fetch reads.',
  effect: 'network',
  isSearch: true,
  isNeverAsked: true,
  input: {
    properties: { query: { type: 'string' } },
    required: ['query'],
  },
  handle: ({ ground }: Pick<ToolContext, 'ground'>) => ({
    async run({ query }, signal) {
      if (query.trim() === '') return errorResult('"query" is empty. Say what to search for.');
      const { text, sources, usage } = await ground(query, signal);
      if (text.trim() === '') return { ...errorResult('The search found nothing. Try other words.'), usage };
      if (sources.length === 0) return { ...succeed(text, 'no sources'), usage };
      const list = sources.map(({ title, uri }, index) => `[${index + 1}] ${title} (${uri})`);
      const summary = plural(sources.length, 'source');
      return { ...succeed(`${text}\n\nSources:\n${list.join('\n')}`, summary), usage };
    },
  }),
});
