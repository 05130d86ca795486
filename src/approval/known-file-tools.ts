import type { Family } from './known-commands.ts';

const COLOR = '--color=?always|never|auto';

/** Reads and lists files, makes empty ones, moves and removes those that are named. What follows directories (`grep -r`) is not here: it reads secrets as well. */
export const FILE_TOOLS: readonly Family[] = [
  {
    page: 'https://www.gnu.org/software/coreutils/manual/html_node/*-invocation.html',
    hasSeparator: true,
    rows: {
      ls: `places: -1 -A -a -d -F -g -h -i -k -l -n -o -p -R -r -S -s -t -u -x --all --almost-all --human-readable --recursive --reverse --group-directories-first --time-style=word ${COLOR}`,
      cat: 'places: -A -b -e -E -n -s -t -T -v --number --show-all --show-ends --squeeze-blank',
      head: 'places: -# -n=number -c=number -q -v --lines=number --bytes=number --quiet',
      tail: 'places: -# -n=number -c=number -q -v --lines=number --bytes=number --quiet',
      wc: 'places: -c -l -m -w -L --bytes --chars --lines --words',
      echo: 'texts: -n -e -E',
      pwd: 'none: -L -P',
      mkdir: 'paths: -p -v --parents --verbose',
      touch: 'paths: -a -c -m --no-create',
      // Of these, a permission must name all operands or none.
      rm: 'targets: -d -f -i -r -R -v',
      'rmdir,kill': 'targets:',
      sort: 'places: -b -d -f -g -h -i -M -n -r -s -u -V -c -k=text -t=text --reverse --unique --numeric-sort --key=text --field-separator=text',
      // A second operand would be written.
      uniq: 'place: -c -d -D -i -u -f=number -s=number -w=number --count --repeated --ignore-case',
      cut: 'places: -b=text -c=text -d=text -f=text -s --bytes=text --characters=text --delimiter=text --fields=text',
      tr: 'texts: -c -d -s -t',
      nl: 'places: -b=word -w=number',
      tac: 'places:',
      date: 'none: -u -R -I=?word -d=text -r=place +=text --utc --date=text --rfc-3339=word',
      stat: 'places: -L -t -f -c=text --format=text --printf=text --terse',
      du: 'places: -a -b -c -h -k -m -s -x -d=number --max-depth=number --summarize --human-readable --apparent-size',
      df: 'places: -a -h -i -k -T --human-readable',
      basename: 'texts: -a -s=text',
      dirname: 'texts:',
      realpath: 'places: -e -m -s',
      readlink: 'places: -e -f -m -n',
      'sha256sum,sha1sum,sha512sum,md5sum,cksum': 'places: -b -t',
      comm: 'places: -1 -2 -3',
      sleep: 'texts:',
      'true,false': 'none:',
      uname: 'none: -a -m -n -o -p -r -s -v',
      nproc: 'none: --all',
      whoami: 'none:',
    },
  },
  {
    page: 'https://www.gnu.org/software/coreutils/manual/html_node/*-invocation.html',
    hasSeparator: true,
    movesFiles: true,
    rows: { cp: 'targets: -a -f -i -n -p -r -R -u -v', mv: 'targets: -f -i -n -v' },
  },
  {
    page: 'https://www.gnu.org/software/grep/manual/grep.html',
    hasSeparator: true,
    rows: {
      grep: `pattern places: -# -a -b -c -E -F -G -h -H -i -I -l -L -n -o -P -q -s -v -w -x -A=number -B=number -C=number -m=number -e=pattern --count --ignore-case --line-number --invert-match --word-regexp --files-with-matches --only-matching --quiet --after-context=number --before-context=number --context=number --max-count=number --regexp=pattern ${COLOR}`,
    },
  },
  {
    page: 'https://github.com/BurntSushi/ripgrep/blob/master/GUIDE.md',
    hasSeparator: true,
    rows: {
      rg: 'pattern places: -c -F -i -l -n -N -o -P -q -s -S -U -v -w -x -A=number -B=number -C=number -m=number -e=pattern -t=word -T=word --count --count-matches --files-with-matches --files-without-match --fixed-strings --ignore-case --smart-case --word-regexp --line-number --no-line-number --column --heading --no-heading --json --stats --trim --vimgrep --multiline --max-depth=number --max-count=number --context=number --after-context=number --before-context=number --type=word --regexp=pattern --sort=path|modified|none --color=always|never|auto -V --version',
      'rg --files': 'places: -t=word -T=word --max-depth=number --sort=path|modified|none --type=word',
    },
  },
  {
    page: 'https://www.gnu.org/software/findutils/manual/html_mono/find.html',
    hasLongDashes: true,
    rows: {
      find: 'places: -name=text -iname=text -path=text -ipath=text -regex=text -type=word -maxdepth=number -mindepth=number -size=number -mtime=number -mmin=number -newer=place -empty -not -o -a -or -and -print -print0 -prune -ls',
    },
  },
  {
    page: 'https://www.gnu.org/software/diffutils/manual/html_node/*-Options.html',
    hasSeparator: true,
    rows: {
      diff: `files: -b -B -c -i -q -s -u -w -y -U=number --brief --unified=?number --side-by-side --ignore-all-space --ignore-blank-lines ${COLOR}`,
      cmp: 'files: -b -l -s',
    },
  },
  {
    page: 'https://man7.org/linux/man-pages/man1/*.1.html',
    hasSeparator: true,
    rows: {
      which: 'texts: -a',
      file: 'places: -b -i -k -L --brief --mime --mime-type',
      tree: 'places: -a -C -d -D -f -F -h -i -J -n -s -L=number -I=text -P=text --dirsfirst --noreport',
      jq: 'filter places: -c -e -r -s -S -M --compact-output --raw-output --sort-keys --slurp',
      column: 'places: -t -s=text',
      free: 'none: -b -h -k -m -g',
      uptime: 'none: -p -s',
    },
  },
];
