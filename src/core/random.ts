/** The same numbers in [0, 1) for the same seed, which is not 0: Marsaglia's xorshift, 32 bits. No secret depends on it. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
