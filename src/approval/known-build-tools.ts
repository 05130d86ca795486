import type { Family } from './known-commands.ts';

const SCRIPTS = 'build|check|coverage|dev|e2e|fmt|format|lint|typecheck|type-check|unit';

const GO = '-n -v -a -x -race -trimpath -p=number -tags=word -mod=mod|readonly|vendor -json';
const GO_TEST = `${GO} -bench=text -benchmem -benchtime=word -count=number -cover -covermode=word -coverprofile=path -cpu=word -failfast -fuzz=text -fuzztime=word -list=text -parallel=number -run=text -short -shuffle=word -skip=text -timeout=word`;

// Without --config, -Z, -C and --manifest-path.
const CARGO =
  '-j=number -p=word -q -r -v -F=word --all --all-features --all-targets --benches --bin=word --bins --color=always|never|auto --example=word --examples --exclude=word --features=word --frozen --jobs=number --keep-going --lib --locked --message-format=word --no-default-features --offline --package=word --profile=word --quiet --release --tests --test=word --verbose --workspace';
const CARGO_TEST = `${CARGO} --doc --no-fail-fast --no-run -- -q --exact --ignored --include-ignored --list --nocapture --quiet --show-output --skip=text --test-threads=number`;

const GRADLE =
  '-i -m -q -s -x=task --build-cache --console=plain|auto|rich|verbose --continue --dry-run --exclude-task=task --info --no-build-cache --no-daemon --offline --parallel --quiet --rerun-tasks --stacktrace --tests=text --warning-mode=word --version';
const MAVEN =
  '-B -DskipTests=?true|false -Dtest=?word -U -V -am -e -fae -ff -ntp -o -q -v -T=word --batch-mode --no-transfer-progress --offline --quiet --version';

const DOTNET =
  '-c=word -f=word -v=word --configuration=word --filter=text --framework=word --list-tests --no-build --no-restore --nologo --verbosity=word';

const PYTEST =
  '-l -q -s -v -x -k=text -m=text -n=word -r=word --cache-clear --co --collect-only --color=yes|no|auto --cov=?path --cov-report=?term|term-missing|xml|html --disable-warnings --durations=number --exitfirst --failed-first --ff --fixtures --last-failed --lf --markers --maxfail=number --nf --no-cov --no-header --no-summary --quiet --setup-show --showlocals --stepwise --strict-markers --sw --tb=word --verbose --version';

const VITEST =
  '-t=text -u --allowOnly --bail=number --changed --color --coverage --globals --hookTimeout=number --isolate --maxWorkers=number --minWorkers=number --no-color --no-coverage --no-file-parallelism --passWithNoTests --pool=threads|forks|vmThreads|vmForks --project=word --reporter=default|verbose|dot|json|tap|junit|basic|tree --retry=number --run --silent --testNamePattern=text --testTimeout=number --update';

/**
 * Builds, tests and checks of the project: they run its code, which is what was allowed, and no other. Options that name
 * more of it (plugins, configurations, compilers, shells, another project) are not here.
 */
export const BUILD_TOOLS: readonly Family[] = [
  {
    page: 'https://docs.npmjs.com/cli/commands/*',
    hasLongDashes: true,
    rows: {
      npm: 'none: -v --version',
      'npm audit': 'none: --audit-level=word --json --omit=dev',
      'npm explain|why': 'packages: --json',
      'npm ls|list|la|ll': 'packages: -a -g --all --depth=number --global --json --long --omit=dev --parseable --prod',
      'npm outdated': 'packages: --all --json --long',
      'npm prefix|root': 'none:',
      'npm run|run-script': 'task args: -s --if-present --silent --',
      'npm start|stop|restart': 'args: -s --silent --',
      'npm test|t|tst': 'args: -s --if-present --silent --',
      'npm view|info|show|v': 'packages: --json',
    },
  },
  {
    page: 'https://pnpm.io/cli/*',
    rows: {
      pnpm: 'none: -v --version',
      'pnpm list|ls|la|ll': 'packages: --depth=number --json --long',
      'pnpm outdated': 'packages: --long',
      'pnpm run|run-script': 'task args: -s --if-present --silent --',
      'pnpm test|t|tst': 'args: -s --silent --',
      'pnpm why': 'packages: --json',
      [`pnpm ${SCRIPTS}`]: 'args: -s --silent --',
    },
  },
  {
    page: 'https://yarnpkg.com/cli',
    rows: {
      yarn: 'none: -v --version',
      'yarn list': 'none: --depth=number --json',
      'yarn outdated': 'packages:',
      'yarn run': 'task args: -s --silent --',
      'yarn test': 'args: -s --silent --',
      'yarn why': 'packages:',
      [`yarn ${SCRIPTS}`]: 'args: -s --silent --',
    },
  },
  {
    page: 'https://bun.sh/docs/cli',
    rows: {
      bun: 'none: --version',
      'bun pm ls': 'none: --all',
      'bun run': 'script args: --silent',
      'bun test': 'paths: -t=text --bail=?number --coverage --only --rerun-each=number --timeout=number --todo',
    },
  },
  {
    page: 'https://docs.deno.com/runtime/reference/cli/',
    rows: {
      deno: 'none: -V --version',
      'deno check': 'names: -q --quiet --all',
      'deno fmt': 'paths: -q --check --quiet',
      'deno lint': 'paths: -q --compact --json --quiet',
      'deno run': 'script args: -q --quiet',
      'deno task': 'task args: -q --quiet',
      'deno test': 'names: -q --doc --fail-fast --filter=text --no-run --parallel --quiet',
    },
  },
  {
    page: 'https://nodejs.org/api/cli.html',
    hasLongDashes: true,
    rows: {
      'node|nodejs': 'script args: --enable-source-maps --experimental-strip-types --no-warnings --trace-warnings',
      'node --check': 'paths:',
      'node --version|-v': 'none:',
      'node --test':
        'paths: --enable-source-maps --experimental-strip-types --experimental-test-coverage --no-warnings --test-concurrency=number --test-name-pattern=text --test-only --test-reporter=spec|tap|dot|junit|lcov --test-skip-pattern=text --test-timeout=number',
      npx: 'none: -v --version',
      'node inspect': 'script args:',
      'tsx,ts-node': 'script args:',
    },
  },
  {
    // npx without --no-install may fetch a stranger's package of that name.
    page: 'https://docs.npmjs.com/cli/commands/npx',
    via: ['npx --no-install', 'pnpm exec', 'bunx --no-install'],
    rows: {
      biome: 'none: --version',
      'biome check':
        'paths: --write --fix --diagnostic-level=word --max-diagnostics=number --reporter=summary|json|github|junit --verbose',
      'biome format': 'paths: --write --fix --max-diagnostics=number --verbose',
      'biome lint': 'paths: --write --fix --diagnostic-level=word --max-diagnostics=number --verbose',
      eslint:
        'paths: -f=stylish|json|html|json-with-metadata -v --cache --color --debug --ext=text --fix --fix-dry-run --format=stylish|json|html|json-with-metadata --max-warnings=number --no-color --no-error-on-unmatched-pattern --quiet --report-unused-disable-directives --stats --version',
      jest: 'paths: -b -i -o -t=text -u -w=word --bail --ci --color --coverage --detectOpenHandles --findRelatedTests --forceExit --listTests --maxWorkers=word --no-cache --no-coverage --onlyChanged --passWithNoTests --runInBand --silent --testNamePattern=text --testPathPattern=text --testPathPatterns=text --updateSnapshot --verbose --version',
      mocha:
        'paths: -b -f=text -g=text -t=number -R=spec|dot|json|list|min|nyan|progress|tap --bail --exit --fgrep=text --grep=text --no-exit --parallel --recursive --timeout=number --version',
      prettier:
        'paths: -c -l -u -w --check --ignore-unknown --list-different --log-level=word --no-color --no-error-on-unmatched-pattern --version --write',
      tsc: 'paths: -b -p=path -v --allowJs --build --checkJs --declaration --diagnostics --emitDeclarationOnly --extendedDiagnostics --incremental --listFiles --noEmit --pretty --project=path --showConfig --skipLibCheck --strict --version',
      vitest: `paths: ${VITEST} --version`,
      'vitest list': `paths: ${VITEST}`,
      'vitest related': `paths: ${VITEST}`,
      'vitest run': `paths: ${VITEST}`,
    },
  },
  {
    page: 'https://doc.rust-lang.org/cargo/commands/',
    rows: {
      cargo: 'none: -V --version',
      'cargo bench': `args: ${CARGO}`,
      'cargo build|b': `none: ${CARGO}`,
      'cargo check|c': `none: ${CARGO}`,
      'cargo clippy': `none: ${CARGO} --allow-dirty --allow-staged --fix --no-deps -- -A=word -D=word -W=word`,
      'cargo doc|d': `none: ${CARGO} --document-private-items --no-deps`,
      'cargo fmt': 'none: -p=word -v --all --check --verbose -- --check',
      'cargo metadata':
        'none: --all-features --format-version=number --frozen --locked --no-default-features --no-deps --offline',
      'cargo nextest run': `words: ${CARGO} --no-fail-fast`,
      'cargo run|r': `args: ${CARGO} --`,
      'cargo test|t': `words: ${CARGO_TEST}`,
      'cargo tree':
        'none: -d -e=word -i=word -p=word --depth=number --duplicates --invert=word --no-dedupe --prefix=none|indent|depth',
      'cargo version': 'none:',
      rustc: 'none: -V -v --version',
    },
  },
  {
    page: 'https://pkg.go.dev/cmd/go',
    hasLongDashes: true,
    rows: {
      'go build': `paths: ${GO} -o=path`,
      'go doc': 'names: -all -c -short -src -u',
      'go env': 'words: -json -changed',
      'go fmt': 'paths: -n -x',
      'go list': `paths: ${GO} -deps -e -f=text -find -m -test -u -versions`,
      'go mod graph': 'none:',
      'go mod tidy': 'none: -v -x -e',
      'go mod verify': 'none:',
      'go mod why': 'names: -m',
      'go test': `paths: ${GO_TEST}`,
      'go version': 'none:',
      'go vet': `paths: ${GO}`,
      gofmt: 'paths: -d -e -l -s -w',
    },
  },
  {
    page: 'https://docs.python.org/3/using/cmdline.html',
    rows: {
      python: 'script args: -B -E -I -O -s -u',
      'python --version|-V': 'none:',
      // Of other commands, such as `shell`, a permission must name the very one.
      'python manage.py': 'script args:',
      'python manage.py check': 'names: --deploy',
      'python manage.py collectstatic': 'none: --dry-run --no-input --noinput',
      'python manage.py makemigrations': 'words: --check --dry-run --no-input --noinput',
      'python manage.py migrate': 'words: --check --list --no-input --noinput --plan',
      'python manage.py showmigrations': 'words: -l -p --list --plan',
      'python manage.py test':
        'names: -v=number --failfast --keepdb --no-input --noinput --parallel --verbosity=number -k=text',
      'python -m json.tool': 'place: --compact --sort-keys',
      'python -m py_compile': 'paths:',
      'python -m unittest': 'paths: -b -c -f -q -v -k=text',
      'python -m unittest discover': 'paths: -b -c -f -q -v -k=text -p=text -s=path -t=path',
    },
  },
  {
    page: 'https://docs.pytest.org/en/stable/reference/reference.html#command-line-flags',
    via: ['python -m', 'uv run', 'poetry run', 'uv run python -m', 'poetry run python -m'],
    rows: { pytest: `paths: ${PYTEST}` },
  },
  {
    page: 'https://mypy.readthedocs.io/en/stable/command_line.html',
    via: ['python -m', 'uv run', 'poetry run'],
    rows: {
      mypy: 'paths: -m=word -p=word --check-untyped-defs --disallow-untyped-defs --ignore-missing-imports --no-color-output --no-error-summary --no-incremental --pretty --show-error-codes --strict --version --warn-unused-ignores',
    },
  },
  {
    page: 'https://docs.astral.sh/ruff/configuration/#full-command-line-interface',
    via: ['python -m', 'uv run', 'poetry run'],
    rows: {
      'ruff check':
        'paths: -q -v --diff --exit-zero --fix --ignore=word --no-cache --output-format=word --quiet --select=word --show-files --show-fixes --statistics --unsafe-fixes',
      'ruff format': 'paths: -q --check --diff --quiet',
      'ruff version': 'none:',
    },
  },
  {
    page: 'https://black.readthedocs.io/en/stable/usage_and_configuration/the_basics.html',
    via: ['python -m', 'uv run', 'poetry run'],
    rows: { black: 'paths: -l=number -q -v --check --diff --quiet --version' },
  },
  {
    page: 'https://pycqa.github.io/isort/docs/configuration/options.html',
    via: ['python -m', 'uv run', 'poetry run'],
    rows: { isort: 'paths: -c -q --check --check-only --diff --quiet --version' },
  },
  {
    page: 'https://pip.pypa.io/en/stable/cli/',
    via: ['python -m', 'uv'],
    rows: {
      pip: 'none: -V --version',
      'pip check': 'none:',
      'pip freeze': 'none: -l --all --local --user',
      'pip list': 'none: -e -o -u --editable --format=columns|freeze|json --not-required --outdated --uptodate',
      'pip show': 'packages: -f -v --files --verbose',
    },
  },
  {
    page: 'https://docs.astral.sh/uv/reference/cli/',
    rows: { uv: 'none: -V --version', 'uv tree': 'none: --depth=number --frozen --no-dev', 'uv version': 'none:' },
  },
  {
    page: 'https://python-poetry.org/docs/cli/',
    rows: {
      poetry: 'none: -V --version',
      'poetry check': 'none: --lock',
      'poetry show': 'packages: -l -o -t --latest --outdated --tree',
    },
  },
  {
    page: 'https://www.gnu.org/software/make/manual/html_node/Options-Summary.html',
    // No variables: they replace what the file says, its shell as well.
    rows: {
      'make|gmake':
        'tasks: -B -i -k -n -q -s -t -w -C=here -j=?number --always-make --dry-run --keep-going --no-print-directory --silent --version',
      ninja: 'tasks: -n -v -C=here -j=number -k=number --version',
      just: 'tasks: -l -n --dry-run --list --version',
      rake: 'tasks: -m -n -q -s -v -P -T --quiet --tasks --version',
    },
  },
  {
    page: 'https://cmake.org/cmake/help/latest/manual/cmake.1.html',
    rows: {
      cmake: 'none: --version',
      'cmake --build':
        'directory: -j=?number -t=task -v --clean-first --config=word --parallel=?number --target=task --verbose',
      ctest:
        'none: -C=word -E=text -L=text -N -Q -R=text -V -VV -j=?number --output-on-failure --parallel=?number --progress --rerun-failed --stop-on-failure --test-dir=here --timeout=number --version',
    },
  },
  {
    page: 'https://maven.apache.org/ref/current/maven-embedder/cli.html',
    hasLongDashes: true,
    rows: { 'mvn|mvnw': `phases: ${MAVEN}` },
  },
  {
    page: 'https://docs.gradle.org/current/userguide/command_line_interface.html',
    hasLongDashes: true,
    rows: { 'gradle|gradlew': `tasks: ${GRADLE}` },
  },
  {
    page: 'https://learn.microsoft.com/dotnet/core/tools/*',
    rows: {
      dotnet: 'none: --info --list-runtimes --list-sdks --version',
      'dotnet build': `paths: ${DOTNET}`,
      'dotnet clean': `paths: ${DOTNET}`,
      'dotnet format': 'paths: --no-restore --verify-no-changes',
      'dotnet test': `paths: ${DOTNET}`,
    },
  },
  {
    page: 'https://man7.org/linux/man-pages/man1/*.1.html',
    rows: {
      'bash,sh,dash,zsh,ksh,mksh,ash,fish,csh,tcsh': 'script args:',
      'bash -n': 'paths:',
      'perl,ruby,php,lua': 'script args:',
      // A permission must name the command, as for manage.py.
      'php artisan|bin/console': 'script args:',
      'ruby bin/rails': 'script args:',
      'perl -v': 'none:',
      'php -l': 'paths:',
      'sed -n': 'range places:',
      // Without a colon, which would be behind the name of another machine.
      'tar -tf|tf|-tzf|tzf|-tvf|tvf': 'names:',
      // Words or input of these are code, or name a program or another machine.
      'awk,gawk,mawk,bc,dc,ed,ex,vi,vim,nvim,emacs,m4,psql,mysql,sqlite3,rsync,scp,ssh,curl,wget --version': 'none:',
      'env,xargs,nohup,su,sudo,doas,timeout,watch,nice,irb,ghci,octave,r --version': 'none:',
    },
  },
  {
    page: 'https://bundler.io/man/*.1.html',
    rows: {
      'bundle check': 'none:',
      'bundle list': 'none:',
      'bundle outdated': 'packages:',
      'bundle show': 'packages:',
    },
  },
  {
    page: 'https://getcomposer.org/doc/03-cli.md',
    rows: {
      composer: 'none: -V --version',
      'composer outdated': 'names: -D --direct',
      'composer show': 'names: -i -l -t --installed --latest --tree',
      'composer validate': 'none: --strict',
    },
  },
  {
    page: 'https://hexdocs.pm/mix/*.html',
    rows: {
      'mix compile': 'none: --force --warnings-as-errors',
      'mix format': 'paths: --check-formatted --dry-run',
      'mix test': 'paths: --failed --seed=number --stale --trace',
    },
  },
];
