// Preloaded into a run: writes the list of Node's own modules that it loaded.
process.on('exit', () => {
  const names = process.moduleLoadList.filter((name) => name.startsWith('NativeModule ')).map((name) => name.slice(13));
  require('node:fs').writeFileSync(process.env.GMN_TEST_MODULES, names.join('\n'));
});
