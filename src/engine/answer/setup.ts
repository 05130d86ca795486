/** What an answer must be, and what is reported with it. */
export interface AnswerSetup {
  readonly outputSchema?: string;
  /** Whether an `end` reports what its turn cost. */
  readonly showsCost?: boolean;
}
