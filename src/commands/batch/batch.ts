import { answerRows } from '../../batch/batch.ts';

export const run = answerRows;
