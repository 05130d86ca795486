// Preloaded into a measured process: leaves its CPU time and peak memory behind when it ends.
process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  require('node:fs').appendFileSync(process.env.BENCH_RUSAGE, `${userCPUTime + systemCPUTime} ${maxRSS}\n`);
});
