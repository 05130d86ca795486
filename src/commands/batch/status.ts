import { showRun } from '../../batch/jobs.ts';

export const run = showRun;
