import { selectTools } from '../../src/tools/builtins.ts';

/** The names of the tools that these sets and names choose, in the order of a request. */
export function listSet(...wanted: readonly string[]): readonly string[] {
  return selectTools(wanted).map(({ name }) => name);
}
