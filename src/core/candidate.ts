/** One completion of a word, and what it is in a few words. */
export interface Candidate {
  readonly value: string;
  readonly about: string;
}
