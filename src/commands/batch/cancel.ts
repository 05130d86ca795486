import { cancelJobs } from '../../batch/cancel.ts';

export const run = cancelJobs;
