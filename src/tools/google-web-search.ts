import type { Ground } from '../core/model.ts';
import { plural } from '../core/text/format.ts';
import type { Tool } from '../core/tool.ts';
import { defineTool, fail, succeed } from './define.ts';

export function googleWebSearch(ground: Ground): Tool {
  return defineTool({
    name: 'google_web_search',
    description: 'Search the web with Google. Gives an answer with its sources; web_fetch reads one of them.',
    effect: 'network',
    input: {
      properties: { query: { type: 'string', description: 'What to search for.' } },
      required: ['query'],
    },
    async run({ query }, signal) {
      if (query.trim() === '') return fail('google_web_search: "query" is empty. Say what to search for.');
      const { text, sources, usage } = await ground(query, signal);
      if (text.trim() === '') return { ...fail('The search found nothing. Try other words.'), usage };
      if (sources.length === 0) return { ...succeed(text, 'no sources'), usage };
      const list = sources.map(({ title, uri }, index) => `[${index + 1}] ${title} (${uri})`);
      const summary = plural(sources.length, 'source');
      return { ...succeed(`${text}\n\nSources:\n${list.join('\n')}`, summary), usage };
    },
  });
}
