import { printReport } from '../../app/report.ts';
import { requireArguments } from '../../app/servers/arguments.ts';
import { openProgress } from '../../app/servers/progress.ts';
import { createTerminalElicit } from '../../approval/elicitation.ts';
import type { App } from '../../core/app.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { createMediaTarget, formatMediaLine, toMedia } from '../../engine/tools/servers/content.ts';
import { withServer } from '../../engine/tools/servers/session.ts';
import type { InspectOptions } from './listing.ts';

interface McpReadOptions extends InspectOptions {
  readonly outputFile?: string;
}

/** Prints text exactly as it is, and media as a line or, with `--output-file`, into that file. */
export async function run(options: McpReadOptions, app: App): Promise<number> {
  const [server = '', uri = ''] = requireArguments(options.args, 2, 'mcp read');
  const save = await createMediaTarget(options.outputFile, app);
  const progress = openProgress(`${server} ${uri}`, options, app);
  const elicit = options.json ? undefined : createTerminalElicit(app.io.err, progress.pause);
  return withServer(server, { options, app, elicit }, async (connection, notices) => {
    const contents = await connection.readResource(uri, { signal: app.signal });
    await progress.end();
    const media = contents.flatMap(toMedia);
    const saved = await save(media);
    const isSaved = options.outputFile !== undefined;
    const pieces = contents.map(({ text, ...rest }) => {
      if (text !== undefined) return text;
      return isSaved
        ? ''
        : toMedia(rest)
            .map((item) => `${formatMediaLine(item)}\n`)
            .join('');
    });
    const text = pieces.join('');
    const isOpen = app.io.out.isTerminal && text !== '' && !text.endsWith('\n');
    const empty = contents.length === 0 ? [`${sanitize(uri)} is empty`] : [];
    await printReport(
      {
        text: isOpen ? `${text}\n` : text,
        json: { contents: contents.map((content) => ({ ...content })) },
        notices: [...notices, ...saved, ...empty],
        isVerbatim: true,
      },
      options,
      app,
    );
    return 0;
  }).finally(progress.end);
}
