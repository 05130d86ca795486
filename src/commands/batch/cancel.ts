import { cancelJobs } from '../../batch/jobs.ts';

export const run = cancelJobs;
