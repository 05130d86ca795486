#!/usr/bin/env node

const { version } = require('../package.json');

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  console.log(version);
} else {
  require('../dist/boot.js').boot(argv, version);
}
