/** The newest Node that was seen to know the flag; one that does not would say so on stderr. */
const NEWEST_KNOWN = 24;

/**
 * Keeps V8's young generation at the size it has now, for the rest of the process; where that cannot be done, does nothing.
 * It would double up to twice 16 MB under a long stream, all of it garbage. V8 reads the flag whenever it might grow.
 */
export function keepYoungGenerationSmall(): void {
  if (Number.parseInt(process.versions.node, 10) > NEWEST_KNOWN) return;
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
}
