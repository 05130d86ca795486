import type { App } from '../../core/app.ts';
import { formatSize } from '../../core/text/format.ts';
import { sanitize } from '../../core/text/terminal.ts';
import type { Listing, RemoteResource, RemoteResourceTemplate } from '../../mcp/client/types.ts';
import { type InspectOptions, printLists } from './listing.ts';

interface ResourceLists {
  readonly resources: Listing<RemoteResource>;
  readonly templates: Listing<RemoteResourceTemplate>;
}

export async function run(options: InspectOptions, app: App): Promise<number> {
  return printLists<ResourceLists>(options, app, {
    command: 'mcp resources',
    none: 'no resources',
    load: async (connection) => ({
      resources: await connection.listResources({ signal: app.signal }),
      templates: await connection.listResourceTemplates({ signal: app.signal }),
    }),
    formatLines: ({ resources, templates }) => [
      ...resources.items.map((item) => formatResource(item.uri, item, item.size)),
      ...templates.items.map((item) => formatResource(item.uriTemplate, item, undefined)),
    ],
    toJson: ({ resources, templates }) => ({
      resources: resources.items.map((item) => ({ ...item })),
      resourceTemplates: templates.items.map((item) => ({ ...item })),
    }),
    listNotices: ({ resources, templates }) => [resources, templates].flatMap(({ omitted }) => omitted ?? []),
  });
}

function formatResource(
  address: string,
  item: { readonly name: string; readonly mimeType?: string },
  size: number | undefined,
): string {
  const notes = [
    item.mimeType === undefined ? '' : sanitize(item.mimeType),
    size === undefined ? '' : formatSize(size),
  ];
  const details = notes.filter((note) => note !== '').join(', ');
  const name = item.name === address ? '' : sanitize(item.name);
  return [sanitize(address), name, details === '' ? '' : `(${details})`].filter((text) => text !== '').join('  ');
}
