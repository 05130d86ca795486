// `npm run try`: from a fresh clone to an answer, with no account and no network beyond the install.
import { ensureInstalled, root, run } from './project.mjs';

const words = process.argv.slice(2);
ensureInstalled();
run(process.execPath, [`${root}/scripts/build.mjs`]);
run(process.execPath, [`${root}/bin/gmn.js`, '--demo', ...(words.length > 0 ? words : ['Hello'])]);
