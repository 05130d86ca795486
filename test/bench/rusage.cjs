// Preloaded into a measured process: leaves its CPU time and peak memory behind when it ends.
const { appendFileSync, existsSync, readFileSync } = require('node:fs');

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  // Linux counts what the parent had at the time of the fork in maxRSS; this is the process's own.
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? maxRSS;
  appendFileSync(process.env.BENCH_RUSAGE, `${userCPUTime + systemCPUTime} ${peak}\n`);
});
