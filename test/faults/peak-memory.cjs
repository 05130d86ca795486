// Preloaded into a run: leaves its peak memory behind, in KB, when it ends by itself.
process.on('exit', () => {
  const { existsSync, readFileSync, writeFileSync } = require('node:fs');
  try {
    // On Linux not maxRSS, which begins with what the parent held when it made this process.
    const status = '/proc/self/status';
    const [, peak] = (existsSync(status) && /VmHWM:\s+(\d+)/.exec(readFileSync(status, 'latin1'))) || [];
    writeFileSync(process.env.GMN_RIG_MEMORY, peak ?? String(process.resourceUsage().maxRSS));
  } catch ({ code }) {
    // In a run that may open too few files, this must not look like a failure of gmn.
    if (code !== 'EMFILE') throw new Error(`its memory cannot be told: ${code}`);
  }
});
