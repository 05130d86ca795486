#!/usr/bin/env node

require('../dist/boot.js').boot(process.argv.slice(2));
