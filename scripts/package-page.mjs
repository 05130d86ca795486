// `node scripts/package-page.mjs <repository> <ref>`: prints README.md for the page of the package. The package has no docs/, so relative
// links and pictures become addresses in the repository, at the tag of the release.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './project.mjs';

const PICTURE = /\.(?:svg|png|gif|jpe?g|webp)$/i;
/** The beginning of a link and its target, if that is neither an anchor nor absolute. */
const RELATIVE = /(\]\(|^\[[^\]]+\]: +|\b(?:src|href)=")(?![#/]|[a-z][a-z\d+.-]*:)(?:\.\/)?([^)\s"]+)/gim;

const [repository = '', ref = ''] = process.argv.slice(2);
if (!/^https:\/\/[^/]+\/[^/]+\/[^/]+$/.test(repository) || !/^[\w.-]+$/.test(ref)) {
  console.error('Usage: node scripts/package-page.mjs https://<host>/<owner>/<name> <tag>');
  process.exit(1);
}
process.stdout.write(makeLinksAbsolute(readFileSync(join(root, 'README.md'), 'utf8')));

/** Code, in a block or in a line, stays as it is. */
function makeLinksAbsolute(text) {
  let isCode = false;
  return text
    .split('\n')
    .map((line) => {
      const isFence = /^ {0,3}(?:```|~~~)/.test(line);
      if (isFence) isCode = !isCode;
      return isCode || isFence ? line : makeLineAbsolute(line);
    })
    .join('\n');
}

function makeLineAbsolute(line) {
  // Every second piece is in backquotes.
  return line
    .split(/(`+[^`]*`+)/)
    .map((piece, index) =>
      index % 2 === 1 ? piece : piece.replace(RELATIVE, (_, begin, target) => begin + toAddress(target)),
    )
    .join('');
}

function toAddress(target) {
  const [path = ''] = target.split('#');
  return `${repository}/${PICTURE.test(path) ? 'raw' : 'blob'}/${ref}/${target}`;
}
