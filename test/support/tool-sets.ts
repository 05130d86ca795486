import { selectTools } from '../../src/tools/builtins.ts';

/** The names of the tools that these sets and names choose, in the order of a request, in a home without skills. */
export function listSet(...wanted: readonly string[]): readonly string[] {
  const isThere = ({ isOffered }: ReturnType<typeof selectTools>[number]): boolean => isOffered?.({}) ?? true;
  return selectTools(wanted)
    .filter(isThere)
    .map(({ name }) => name);
}
