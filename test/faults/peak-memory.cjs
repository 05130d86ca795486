// Preloaded into a run: leaves its peak memory behind, in KB, when it ends by itself.
process.on('exit', () => {
  require('node:fs').writeFileSync(process.env.GMN_RIG_MEMORY, String(process.resourceUsage().maxRSS));
});
