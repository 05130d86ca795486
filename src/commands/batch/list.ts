import { listRuns } from '../../batch/list.ts';

export const run = listRuns;
