import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findHarm, type HarmPlace } from '../../src/approval/harm.ts';

/** Nothing here runs anything: these are lines of text. */
const PLACE: HarmPlace = {
  directory: '/home/u/app',
  roots: ['/home/u/app'],
  homes: ['/home/u'],
  env: { HOME: '/home/u', EMPTY: '', ROOT: '/', DISK: '/dev/sdb', NEST: '$ROOT' },
  realPath: (path) => (path === '/home/u/app/up' ? '/' : path === '/home/u/app/mine' ? '/home/u' : undefined),
  isPosix: true,
};

test.for([
  // The root and what is directly in it.
  ...[
    'rm -rf /',
    'rm -rf /*',
    'rm -rf //',
    'rm -rf /.',
    'rm -r --no-preserve-root x',
    'rm -rf /home',
    'rm -rf /{bin,etc}',
    'rm -rf {a,$ROOT}',
  ],
  ...[
    'rm -rf ../../..',
    'rm -rf up/',
    'rm -rf -- /',
    'RM -rf /',
    '/bin/rm -rf /',
    "r'm' -rf /",
    '\\rm -rf /',
    'rm -rf \\\n/',
  ],
  ...[
    'rm -rf /etc',
    'rm -rf /h*',
    'rm -rf $ROOT',
    'rm -rf "$\u007bROOT}"',
    'rm -rf $NEST',
    'rm -rf $EMPTY/*',
    'rm -rf $UNSET/',
  ],
  ...[
    'rm -rf $\u007bUNSET:-/}',
    'rm -rf $\u007bUNSET-/}',
    'D=/; rm -rf $D',
    'rm -rf $(echo /)',
    'rm -rf `echo /`',
    'rm -rf "$(echo /)"',
  ],
  // A home.
  ...[
    'rm -rf ~',
    'rm -rf ~/',
    'rm -rf "$HOME"',
    'rm -rf $HOME/*',
    'rm -rf ~/.*',
    'rm -rf ~/{*,.*}',
    'rm -rf ~root',
    'rm -rf ~u',
  ],
  ...[
    'rm -rf /home/other',
    'rm -rf /Users/me',
    'rm -rf ..',
    'rm -rf mine',
    'rm -rf /root',
    'rm -rf ~/[a-z]*',
    'mv ~ /dev/null',
  ],
  ...[
    'cd && rm -rf .',
    'cd ~ && rm -rf *',
    'cd /; rm -rf *',
    '(cd .. && rm -rf .)',
    'pushd /home; rm -rf u',
    'env -C / rm -rf *',
  ],
  // Through others.
  ...[
    'sudo rm -rf /',
    'sudo -u root -- rm -rf /',
    "sh -c 'rm -rf /'",
    `bash -lc "sh -c 'rm -rf /'"`,
    'env A=b rm -rf /',
    'true; rm -rf /',
  ],
  ...[
    'true&&rm -rf /',
    'false || rm -rf ~',
    'ls | xargs rm -rf /',
    'find / | xargs rm',
    'echo / | xargs -n1 rm -rf',
    'timeout 5 rm -rf /',
  ],
  ...[
    'if true; then rm -rf /; fi',
    'for d in / ~; do rm -rf $d; done',
    '{ rm -rf /; }',
    'x() { rm -rf ~; }',
    'echo "$(rm -rf /)"',
  ],
  ...[
    "eval 'rm -rf /'",
    "ssh host 'rm -rf /'",
    'echo "rm -rf /" | sh',
    'busybox rm -rf /',
    'git commit -m "$(rm -rf /)"',
    'rm -rf / >x 2>&1',
  ],
  ...[
    'rm -rf / # clean',
    "rm -rf '/",
    'rm -rf "/',
    'A=$(date) rm -rf /',
    'rm -rf / <x',
    'ls\nrm -rf /',
    'rm -rf /&',
    'unknown-wrapper rm -rf /',
  ],
  // Other programs.
  ...[
    'find / -delete',
    'find ~ -name x -exec rm {} +',
    'cd ~; find -delete',
    'find -L / -type f -execdir sh -c "x" \\;',
    'fd . / -x rm',
  ],
  ...[
    'find ~ \\( -name a \\) -delete',
    'chmod -R 777 /',
    'chown -R u:u ~',
    'chmod --recursive 0 /etc',
    'chgrp -hR x /',
    'setfacl -R -m x /',
  ],
  ...[
    'rsync -a --delete empty/ ~/',
    'shred -u ~/*',
    'git -C / clean -fdx',
    'cd .. && git clean -fd',
    'git clean -fdx ..',
    'git --work-tree=/ clean -f',
  ],
  ...['GIT_WORK_TREE=~ git clean -fd', 'cd /home/u && git clean -fd', 'fuser -k /', 'trash ~', 'chattr -R +i /'],
  // Disks, the machine, every process.
  ...[
    'mkfs.ext4 /dev/sda1',
    'mkfs -t ext4 /dev/nvme0n1',
    'dd if=/dev/zero of=/dev/sda',
    'dd if=x of=$DISK',
    'cat x > /dev/sda',
    'wipefs -a /dev/vdb',
  ],
  ...[
    'cp image /dev/mmcblk0',
    'tee /dev/sda < x',
    'shred /dev/sdb',
    'parted /dev/sda mklabel gpt',
    'echo x >/dev/sda',
    'truncate -s 0 /dev/sda',
  ],
  ...[
    'shutdown -h now',
    'sudo reboot',
    'poweroff',
    'systemctl poweroff',
    'init 0',
    'A=1 halt',
    '/sbin/shutdown now',
    'true && reboot',
    'sudo -n poweroff',
  ],
  ...[
    'kill -9 -1',
    'kill -- -1',
    'kill -s KILL -1',
    'killall5 -9',
    'pkill -f .',
    'pkill -u u',
    'killall -u u',
    'pkill ".*"',
    ':(){ :|:& };:',
  ],
  ...['bomb() { bomb | bomb & }; bomb', 'diskutil eraseDisk APFS x disk2'],
])('%j is harm', (line) => {
  expect(findHarm(line, PLACE)).toBeTypeOf('string');
});

test.for([
  ...[
    'rm -rf node_modules',
    'rm -rf ./dist/*',
    'rm -rf /home/u/app/build',
    'rm -rf ~/app/tmp',
    'rm -rf /tmp/x',
    'rm ~/*.log',
    'rm -rf "$UNSET"',
  ],
  ...[
    'rm -rf ~/.cache/x',
    'T=$(mktemp -d); rm -rf "$T"/*',
    'for f in *.o; do rm -f $f/; done',
    'while read f; do rm -rf "$f/"; done',
    'rm -rf $1/x',
    'rm -rf a$(b)',
  ],
  ...[
    'read a b; rm -rf $b/',
    'rm -rf "$@"',
    'rm -rf ""',
    'rm',
    'rm -rf',
    'git rm -r src',
    'git status',
    'npm test',
    'ls /',
    'cat /etc/hosts',
    'cp x ~/',
  ],
  ...[
    'mv a ~',
    'mv a b /',
    'find / -name x',
    'find ~ -name x -exec grep y {} +',
    'find . -delete',
    'fd x -x wc',
    'find / -exec',
    'chmod 755 /',
    'chmod -R u+w .',
  ],
  ...[
    'chown -R u src',
    'git clean -fdx',
    'git clean -n ..',
    'git clean -fd src',
    'git -C sub clean -fd',
    'git -C .. status',
    'cd sub && git clean -fd',
  ],
  ...[
    'mkfs.ext4 disk.img',
    'fdisk -l /dev/sda',
    'dd if=/dev/sda of=image',
    'dd if=/dev/zero of=x',
    'cp /dev/sda image',
    'tee log',
    'echo x > /dev/null',
  ],
  ...[
    'echo "rm -rf /"',
    "git commit -m 'never rm -rf /'",
    'grep -rn "rm -rf /" .',
    'git log --grep "rm -rf /"',
    'printf "%s" "rm -rf ~"',
    'rg "mkfs /dev/sda"',
  ],
  ...[
    'npm run shutdown',
    'cat shutdown',
    'git checkout reboot',
    'kill -1 123',
    'kill -9 123',
    'kill 1',
    'pkill node',
    'killall -9 node',
    'systemctl status x',
  ],
  ...[
    'init',
    'echo reboot',
    'rsync -a x/ ~/backup',
    'rsync -a ~/ backup',
    'echo x 2>&1 >out',
    'rm -rf link/..x',
    '',
    '   ',
    '|||',
    'echo }',
    'rm -rf {a,b}',
  ],
  ...[
    'docker run --rm -v /:/host x',
    'tar -C / -cf x.tar etc',
    'cd / && ls',
    'node -e "x()"',
    'sh -c "ls -la"',
    'sh -c \'sh -c "ls a"\'',
  ],
])('%j is none', (line) => {
  expect(findHarm(line, PLACE)).toBeUndefined();
});

test('what it finds names the program and the place', () => {
  expect(findHarm('sudo rm -rf ~/*', PLACE)).toBe('rm: the home directory /home/u');
  expect(findHarm('rm -rf /', PLACE)).toBe('rm: /');
  expect(findHarm('rm -rf /etc', PLACE)).toBe('rm: the directory /etc of the system');
  expect(findHarm('dd of=/dev/sda', PLACE)).toBe('dd: the disk /dev/sda');
  expect(findHarm('cat x > /dev/sda', PLACE)).toBe('the disk /dev/sda');
  expect(findHarm('reboot', PLACE)).toBe('reboot: every process');
  expect(
    findHarm('cd ..; git clean -fd', { ...PLACE, homes: ['/root'], roots: ['/srv/a/b'], directory: '/srv/a/b' }),
  ).toBe('git: above the workspace, /srv/a');
});

test('in another shell a backslash is a part of a path, and its variables count', () => {
  const place = { ...PLACE, isPosix: false };
  expect(findHarm('Remove-Item -Recurse $env:HOME', place)).toBe('remove-item: the home directory /home/u');
  expect(findHarm('rd /s /q %HOME%', place)).toBe('rd: the home directory /home/u');
  expect(findHarm('cmd.exe /c format c:', place)).toBe('format: a disk');
  expect(findHarm('Stop-Computer', place)).toBe('stop-computer: every process');
  expect(findHarm('taskkill /f /im *', place)).toBe('taskkill: every process');
  expect(findHarm('icacls / /t /grant x', place)).toBe('icacls: /');
  expect(findHarm('del a\\b', place)).toBeUndefined();
});

test('without a home directory it still knows where homes are', () => {
  const place = { ...PLACE, env: {}, homes: [] };
  expect(findHarm('rm -rf ~', place)).toBe('rm: the home directory /root');
});

test('any line of known harm stays harm with anything before, around and after it', () => {
  const harm = fc.constantFrom(
    'rm -rf /',
    'rm -rf ~',
    'find / -delete',
    'chmod -R 0 ~',
    'dd of=/dev/sda',
    'mkfs /dev/sda',
    'reboot',
  );
  const before = fc.constantFrom(
    '',
    'true; ',
    'ls && ',
    'x | ',
    'sudo ',
    'env A=b ',
    'nohup ',
    '( ',
    '{ ',
    'if x; then ',
    '! ',
    'A=$(b) ',
  );
  const after = fc.constantFrom('', ' ; ls', ' && x', ' | cat', ' > log', ' 2>&1', ' &', ' )', '\nls', ' # x');
  const wrap = fc.constantFrom(
    (line: string) => line,
    (line: string) => `sh -c '${line}'`,
    (line: string) => `bash -c "${line.replaceAll('$', '\\$')}"`,
    (line: string) => `echo "$(${line})"`,
    (line: string) => `eval '${line}'`,
  );
  fc.assert(
    fc.property(harm, before, after, wrap, before, (text, start, end, wrapIt, first) => {
      const line = `${first}${wrapIt(`${start}${text}${end}`)}`;
      expect(findHarm(line, PLACE), line).toBeTypeOf('string');
    }),
  );
});

test('any text is looked through in time that grows with its length', () => {
  const unit = fc.constantFrom(...'rm ~/$(){}[]"\'\\`|&;<>*? \n=ab', '${', '$(', 'rm -rf ', 'for x in ', '{a,');
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 200 }), (units) => {
      findHarm(units.join(''), PLACE);
    }),
  );
  const long = ['rm ', 'kill ', '"', '{a,', '$(', ' \n', 'a', '${a', '{,', "a='", 'xargs rm |', 'for a in b;', '\\'];
  for (const text of long) findHarm(text.repeat(20_000), PLACE);
});

test('lines within lines are followed, and too many of them count as harm', () => {
  const nest = (depth: number): string => (depth === 0 ? 'ls a' : `sh -c ${JSON.stringify(nest(depth - 1))}`);
  expect(findHarm(nest(4), PLACE)).toBeUndefined();
  expect(findHarm(nest(5), PLACE)).toBe('lines within lines, deeper than gmn looks');
});

test('a command that names more files than are looked at counts as harm', () => {
  expect(findHarm(`rm ${'a '.repeat(3000)}`, PLACE)).toBe('more files than gmn looks at');
});
