import { showRun } from '../../batch/status.ts';

export const run = showRun;
