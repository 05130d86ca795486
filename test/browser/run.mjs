// `npm run test:browser [-- --allow-skip] [-- --shots <dir>]`: the HTML export in a real browser.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { findChromium, startChromium } from './chromium.mjs';
import { contrastFaults, foreignNodes, overflow, searchFor, visibleText } from './page-checks.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags } = parseArgs({ options: { 'allow-skip': { type: 'boolean' }, shots: { type: 'string' } } });
const WIDTHS = [320, 390, 768, 1400];

const program = findChromium(process.env);
if (program === undefined) {
  console.log('skipped: no Chromium on PATH (GMN_BROWSER names another)');
  process.exit(flags['allow-skip'] ? 0 : 1);
}
const scratch = mkdtempSync(join(tmpdir(), 'gmn-browser-'));
const rows = [];
let version;
try {
  const pages = await writePages();
  const browser = await startChromium(program, join(scratch, 'profile'));
  version = browser.version;
  try {
    await lookAtShowcase(browser, pages.showcase);
    await attack(browser, pages, { isPolicyOn: true });
    await attack(browser, pages, { isPolicyOn: false });
    await proveTheTrap(browser, pages.broken);
    await openLong(browser, pages.long);
  } finally {
    await browser.close();
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
report();
process.exitCode = rows.every((row) => row.ok) ? 0 : 1;

function check(what, ok, seen = {}) {
  rows.push({ what, ok, ...seen });
}

/** The pages as gmn writes them, from the sources as they are. */
async function writePages() {
  const bundle = join(scratch, 'pages.mjs');
  await build({
    stdin: {
      contents: `
        export { exportSession } from './src/export/export.ts';
        export { showcase } from './test/export/showcase.ts';
        export { HOSTILE, hostileSession } from './test/export/hostile.ts';
        export { longSession } from './test/export/long.ts';`,
      resolveDir: root,
    },
    ...{ bundle: true, platform: 'node', format: 'esm', outfile: bundle, logLevel: 'error' },
  });
  const { exportSession, showcase, HOSTILE, hostileSession, longSession } = await import(pathToFileURL(bundle).href);
  const write = async (name, session) => {
    const file = join(scratch, `${name}.html`);
    writeFileSync(file, [...(await exportSession(session, 'html'))].join(''));
    return pathToFileURL(file).href;
  };
  const hostile = hostileSession();
  const good = await write('showcase', showcase);
  const broken = join(scratch, 'broken.html');
  const hole = `<img src="http://127.0.0.1:9/x.png" onerror='document.title="RAN"'></main>`;
  writeFileSync(broken, readFileSync(fileURLToPath(good), 'utf8').replace('</main>', hole));
  return {
    showcase: good,
    broken: pathToFileURL(broken).href,
    hostile: await write('hostile', hostile),
    long: await write('long', longSession(10_000)),
    strings: HOSTILE,
    hostileTurns: hostile.summary.turns,
  };
}

async function lookAtShowcase(browser, url) {
  const page = await browser.open();
  for (const scheme of ['light', 'dark']) {
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    for (const width of WIDTHS) {
      await resize(page, width);
      await page.goTo(url);
      check(`nothing is wider than the page at ${width}, ${scheme}`, (await page.evaluate(overflow)) === 0);
      await shoot(page, `${scheme}-${width}`);
      await page.evaluate(() => document.getElementById('unfold').click());
      check(`nothing unfolded is wider than the page at ${width}, ${scheme}`, (await page.evaluate(overflow)) === 0);
      await shoot(page, `${scheme}-${width}-unfolded`);
    }
    await page.send('Emulation.setEmulatedMedia', {
      media: 'print',
      features: [{ name: 'prefers-color-scheme', value: scheme }],
    });
    await shoot(page, `${scheme}-print`);
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    check(`paper is white, ${scheme}`, paper === 'rgb(255, 255, 255)', { paper });
    await page.send('Emulation.setEmulatedMedia', {
      media: 'screen',
      features: [{ name: 'prefers-color-scheme', value: scheme }],
    });
    const faults = await page.evaluate(contrastFaults);
    check(`all text stands out by 4.5 to 1, ${scheme}`, faults.texts > 100 && faults.low.length === 0, faults);
  }
  await page.goTo(url);
  for (const [words, matches, turns] of [
    ['cache', 19, 2],
    ['part-119', 2, 2],
    ['const kept', 1, 1],
    ['no such words', 0, 0],
    ['the service ran', 1, 1],
    ['', 0, 4],
  ]) {
    const seen = await page.evaluate(searchFor, words);
    check(`a search for "${words}"`, seen.matches === matches && seen.turns === turns && seen.isVisible, seen);
    await shoot(page, `search-${words.replaceAll(' ', '-') || 'none'}`);
  }
  await page.evaluate(() => document.activeElement.blur());
  await page.send('Input.dispatchKeyEvent', { type: 'keyDown', key: '/', text: '/' });
  check('the key / leads to the search', (await page.evaluate(() => document.activeElement.id)) === 'find');
  const pictures = await page.evaluate(async () => {
    const all = [...document.querySelectorAll('section.answer figure img')];
    for (const image of all) {
      image.loading = 'eager';
      await image.decode();
    }
    return all.map(({ naturalWidth, naturalHeight }) => `${naturalWidth}x${naturalHeight}`);
  });
  check('a picture of an answer is shown, whole', pictures.join() === '320x240', { pictures });
  check('nothing was refused, logged or asked for', faultsOf(page).length === 0, { faults: faultsOf(page) });
}

/** Every hostile string in every place, with the page's policy and without it: escaping alone must be enough. */
async function attack(browser, { hostile, strings, hostileTurns }, { isPolicyOn }) {
  const page = await browser.open();
  const how = isPolicyOn ? 'with the policy' : 'with the policy turned off';
  await page.send('Page.setBypassCSP', { enabled: !isPolicyOn });
  await page.goTo(hostile);
  const title = await page.evaluate(() => document.title);
  await page.evaluate(() => document.getElementById('unfold').click());
  // Whatever waits for the pointer, the focus or a moment gets it.
  await page.evaluate(async () => {
    for (const element of document.querySelectorAll('body *')) {
      for (const type of ['mouseover', 'focus', 'toggle', 'error', 'load']) element.dispatchEvent(new Event(type));
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  const after = await page.evaluate(() => document.title);
  check(`nothing ran, ${how}`, after === title && !title.startsWith('RAN'), { strings: strings.length });
  const foreign = await page.evaluate(foreignNodes);
  check(`no element, attribute or address is of the session's making, ${how}`, foreign.found.length === 0, foreign);
  const turns = await page.evaluate(() => document.querySelectorAll('main > article').length);
  check(`the page has its shape, ${how}`, turns === hostileTurns, { turns });
  const text = await page.evaluate(visibleText);
  const lost = strings.filter((each) => !text.includes(each.replace(/\s|[^\x20-\x7e]/gu, '')));
  check(`every string can be read on the page, ${how}`, lost.length === 0, { lost });
  check(`nothing was refused, logged or asked for, ${how}`, faultsOf(page).length === 0, { faults: faultsOf(page) });
  await shoot(page, isPolicyOn ? 'hostile' : 'hostile-no-policy');
}

/** A page that does let a string through is caught: by the policy when it is on, by these checks when it is off. */
async function proveTheTrap(browser, url) {
  for (const isPolicyOn of [true, false]) {
    const page = await browser.open();
    await page.send('Page.setBypassCSP', { enabled: !isPolicyOn });
    await page.goTo(url);
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 500)));
    const hasRun = (await page.evaluate(() => document.title)) === 'RAN';
    const { found } = await page.evaluate(foreignNodes);
    const isCaught = hasRun !== isPolicyOn && faultsOf(page).length > 0 && found.includes('onerror');
    check(`a page that is not escaped is caught, policy ${isPolicyOn ? 'on' : 'off'}`, isCaught, {
      faults: faultsOf(page),
    });
  }
}

async function openLong(browser, url) {
  const page = await browser.open();
  await resize(page, 1400);
  await page.goTo(url);
  const seen = await page.evaluate(searchFor, 'Question 009999');
  check('10,000 turns can be opened and searched', seen.matches === 1 && seen.turns === 1, seen);
}

/** What a page did that it should not: requests beyond itself and its pictures, refusals, errors, dialogs. */
function faultsOf({ events }) {
  return events.flatMap(({ method, params }) => {
    if (method === 'Network.requestWillBeSent') {
      return /^(?:file|data):/.test(params.request.url) ? [] : [`request: ${params.request.url}`];
    }
    if (method === 'Log.entryAdded') return [`log: ${params.entry.text}`];
    if (method === 'Runtime.exceptionThrown') return [`exception: ${params.exceptionDetails.text}`];
    if (method === 'Audits.issueAdded') return params.issue.code === 'ContentSecurityPolicyIssue' ? ['policy'] : [];
    return ['Runtime.consoleAPICalled', 'Page.javascriptDialogOpening', 'Page.windowOpen'].includes(method)
      ? [method]
      : [];
  });
}

function resize(page, width, height = 900) {
  const mobile = width < 600;
  return page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile });
}

async function shoot(page, name) {
  if (!flags.shots) return;
  mkdirSync(flags.shots, { recursive: true });
  // What is far below the window is not laid out, so the window is made as high as the page.
  const { cssContentSize, cssLayoutViewport } = await page.send('Page.getLayoutMetrics');
  const width = cssLayoutViewport.clientWidth;
  await resize(page, width, Math.min(Math.max(900, Math.ceil(cssContentSize.height)), 6000));
  const { data } = await page.send('Page.captureScreenshot');
  await resize(page, width);
  writeFileSync(join(flags.shots, `${name}.png`), Buffer.from(data, 'base64'));
}

function report() {
  for (const { what, ok, ...seen } of rows) {
    console.log(`${ok ? 'ok  ' : 'FAIL'}  ${what}`);
    if (!ok) console.log(`      ${JSON.stringify(seen).slice(0, 2000)}`);
  }
  const date = new Date().toISOString().slice(0, 10);
  const gmn = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
  const system = `${process.platform} ${process.arch}`;
  const result = { date, gmn, browser: version, system, checks: rows.length, rows };
  writeFileSync(
    join(root, 'docs', 'dev', 'results', `export-${date}.json`),
    `${JSON.stringify(result, undefined, 2)}\n`,
  );
}
