import type { Family } from './known-commands.ts';

// Without --ext-diff, --textconv, --output, --no-index and -O.
const DIFF =
  '-a -b -B -C -D -M -p -R -s -u -w -W -z -U=number -S=text -G=text --abbrev=?number --binary --cc --check --color=?always|never|auto --color-words --compact-summary --diff-filter=word --dirstat --exit-code --find-renames --full-index --function-context --histogram --ignore-all-space --ignore-blank-lines --ignore-space-change --inter-hunk-context=number --minimal --name-only --name-status --no-color --no-ext-diff --no-patch --no-prefix --no-renames --no-textconv --numstat --patch --patience --pickaxe-all --quiet --raw --shortstat --stat=?word --summary --text --unified=number --word-diff=?color|plain|porcelain|none';

// Without --show-signature, and formats that call gpg.
const LOG = `${DIFF} -# -c -E -F -g -i -m -n=number -t -L=revisions --after=text --all --all-match --author=text --author-date-order --before=text --boundary --branches --cherry --cherry-pick --children --committer=text --date=text --date-order --decorate=?short|full|auto|no --first-parent --follow --format=gitformat --full-history --graph --grep=text --invert-grep --left-right --max-count=number --merges --no-decorate --no-merges --no-notes --no-walk --not --oneline --parents --pretty=?gitformat --remotes --reverse --simplify-by-decoration --since=text --skip=number --source --tags --topo-order --until=text --walk-reflogs --abbrev-commit --no-abbrev-commit`;

const REFS =
  '-i --contains --no-contains --merged --no-merged --points-at=word --sort=word --format=gitformat --column --no-column --color --no-color';

const FETCH =
  '-a -p -q -t -v -4 -6 -j=number --all --atomic --depth=number --dry-run --jobs=number --no-tags --progress --prune --quiet --tags --unshallow --verbose';

const PICK = '-n -x -m=number --abort --continue --no-commit --no-edit --quit --skip';

/** What loses changes (`checkout <path>`, `reset --hard`, `clean`), publishes, or runs what is named, is not here. */
export const GIT: readonly Family[] = [
  {
    page: 'https://git-scm.com/docs/*',
    hasSeparator: true,
    rows: {
      git: 'none: -P --no-pager --no-optional-locks --literal-pathspecs -C=here -v --version',
      'git add': 'revisions: -A -n -N -u -v --all --dry-run --intent-to-add --update --verbose',
      'git blame':
        'revisions: -e -f -l -M -C -n -p -s -t -w -L=revisions --date=text --line-porcelain --porcelain --root --since=text --show-email --show-name',
      'git branch': `names: ${REFS} -a -d -l -m -q -r -t -v -u=names --all --delete --list --move --no-track --quiet --remotes --show-current --track --verbose`,
      'git cat-file': 'revisions: -e -p -s -t',
      'git check-ignore': 'revisions: -n -q -v --no-index',
      'git cherry': 'names: -v',
      'git commit':
        'revisions: -a -i -o -q -s -v -m=text -F=place --all --allow-empty --amend --author=text --date=text --dry-run --file=place --fixup=word --message=text --no-edit --no-gpg-sign --no-status --quiet --reset-author --short --signoff --squash=word --verbose',
      'git count-objects': 'none: -H -v',
      'git describe':
        'revisions: --all --always --abbrev=number --candidates=number --contains --dirty=?word --exact-match --exclude=text --first-parent --long --match=text --tags',
      'git diff': `revisions: ${DIFF} --cached --merge-base --staged`,
      'git fetch': `names: ${FETCH}`,
      'git for-each-ref': `names: ${REFS} --count=number`,
      'git grep':
        'pattern revisions: -c -E -F -G -h -H -i -l -L -n -o -p -P -q -v -w -W -A=number -B=number -C=number -e=pattern --and --or --not --break --cached --count --extended-regexp --files-with-matches --fixed-strings --heading --ignore-case --line-number --max-depth=number --name-only --only-matching --word-regexp --no-textconv',
      'git log': `revisions: ${LOG}`,
      'git ls-files':
        'revisions: -c -d -i -k -m -o -s -t -u -v -z --abbrev --cached --deleted --eol --error-unmatch --exclude-standard --full-name --ignored --modified --others --stage --unmerged',
      'git ls-tree': 'revisions: -d -l -r -t -z --abbrev --full-name --full-tree --long --name-only --name-status',
      'git merge-base': 'names: -a --all --fork-point --independent --is-ancestor --octopus',
      'git name-rev': 'names: --name-only --tags --always',
      'git reflog': `none: ${LOG}`,
      'git reflog show': `revisions: ${LOG}`,
      'git remote': 'none: -v --verbose',
      'git remote get-url': 'names: --all --push',
      'git reset': 'revisions: -q --mixed --quiet --soft',
      'git restore --staged': 'revisions: -q --quiet',
      'git rev-list': `revisions: ${LOG} --count --disk-usage --objects`,
      'git rev-parse':
        'revisions: -q --abbrev-ref=?strict|loose --absolute-git-dir --all --branches --git-common-dir --git-dir --is-bare-repository --is-inside-git-dir --is-inside-work-tree --quiet --remotes --short=?number --show-cdup --show-prefix --show-toplevel --symbolic --symbolic-full-name --tags --verify',
      'git rm': 'paths: -n -q -r --cached --dry-run --quiet',
      'git shortlog': `revisions: ${LOG} -e -n -s --email --numbered --summary`,
      'git show': `revisions: ${LOG}`,
      'git show-ref': 'names: -d -q -s --heads --tags --verify --hash',
      'git stash list': `revisions: ${LOG}`,
      'git stash show': `names: ${DIFF}`,
      'git status':
        'revisions: -b -s -u=?no|normal|all -v -z --ahead-behind --branch --ignored --long --no-ahead-behind --no-renames --porcelain=?v1|v2 --renames --short --show-stash --untracked-files=?no|normal|all --verbose',
      'git submodule status': 'revisions: --cached --recursive',
      'git tag': `names: ${REFS} -a -d -l -n=?number -m=text --annotate --delete --list --message=text`,
      'git version': 'none: --build-options',
      'git whatchanged': `revisions: ${LOG}`,
      'git worktree list': 'none: -v --porcelain --verbose',
    },
  },
  {
    page: 'https://git-scm.com/docs/*',
    hasSeparator: true,
    movesFiles: true,
    rows: {
      'git checkout -b': 'names: -q -t --quiet --track --no-track',
      'git cherry-pick': `paths: ${PICK}`,
      'git merge':
        'names: -n -q -m=text --abort --ff --ff-only --no-commit --no-edit --no-ff --no-stat --quiet --squash --stat',
      'git mv': 'paths: -k -n -v --dry-run --verbose',
      'git pull': `names: ${FETCH} --ff-only --no-edit --no-rebase --rebase --autostash`,
      'git revert': `paths: ${PICK}`,
      'git stash': 'none:',
      'git stash apply': 'names: -q --index --quiet',
      'git stash pop': 'names: -q --index --quiet',
      'git stash push': 'paths: -k -q -S -u -m=text --include-untracked --keep-index --message=text --quiet --staged',
      'git switch': 'names: -c=names -q -t --create=names --detach --guess --no-guess --no-track --quiet --track',
    },
  },
];
