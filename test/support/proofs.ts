import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface ProofRow {
  readonly id: string;
  readonly cells: readonly string[];
}

/** The rows whose first cell matches `id`. */
export function proofRows(page: string, id: RegExp): readonly ProofRow[] {
  return [...read(page).matchAll(new RegExp(`^\\| (${id.source}) \\|(.*)\\|$`, 'gm'))].map(
    ([, name = '', rest = '']) => ({
      id: name,
      cells: rest.split(' | '),
    }),
  );
}

/** The tests that a cell names, as `file`: "name", "name". */
export function proofsIn(cell: string): readonly (readonly [file: string, name: string])[] {
  return [...cell.matchAll(/`(test\/[^`]+)`: ((?:"(?:\\.|[^"\\])*"(?:, )?)+)/g)].flatMap(([, file = '', names = '']) =>
    [...names.matchAll(/"(?:\\.|[^"\\])*"/g)].map(([quoted]) => [file, JSON.parse(quoted)] as const),
  );
}

/** The tests that the last cells name and that do not exist. */
export function missingProofs(rows: readonly ProofRow[]): readonly { id: string; file: string; name: string }[] {
  return rows
    .flatMap(({ id, cells }) => proofsIn(cells.at(-1) ?? '').map(([file, name]) => ({ id, file, name })))
    .filter(({ file, name }) => {
      const source = existsSync(`${ROOT}/${file}`) ? read(file) : '';
      return !["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote}`));
    });
}

function read(path: string): string {
  return readFileSync(`${ROOT}/${path}`, 'utf8');
}
