// Reads the places where nclust shows troubles.
import { openPage } from '../helpers/page.js';
import { takePort } from '../helpers/ports.js';
import { readPrometheus } from '../helpers/prometheus.js';

/** @import { Trouble } from '../../lib/shared/troubles.js' */
/** @import { Sandbox } from '../helpers/sandbox.js' */

/** @typedef {Record<string, string[]>} Shown  "app: kind" by surface. */

/**
 * @param {{ app: string, kind: string }[]} troubles
 * @returns {string[]}
 */
export function listPairs(troubles) {
  return [...new Set(troubles.map(({ app, kind }) => `${app}: ${kind}`))].sort();
}

/**
 * @param {Sandbox} home
 * @returns {Promise<{ read: () => Promise<Shown>, close: () => void }>}
 */
export async function openSurfaces(home) {
  const port = await takePort();
  await home.nclust('set', 'metrics.listen', `127.0.0.1:${port}`);
  const page = await openPage((await home.nclust('web', '--listen', '127.0.0.1:0')).stdout.trim());
  const json = async (/** @type {string[]} */ ...words) => (await home.nclust(...words, '--json')).json();

  /** @param {{ name: string, troubles: any[] }[]} slots */
  const ofSlots = (slots) =>
    listPairs(slots.flatMap(({ name, troubles }) => troubles.map((one) => ({ app: name, kind: one.kind ?? one }))));

  async function read() {
    const [why, list, described, doctor, monit, shown, exported] = await Promise.all([
      json('why'),
      json('list'),
      json('describe', 'all'),
      json('doctor'),
      json('monit'),
      page.request('metrics'),
      fetch(`http://127.0.0.1:${port}/metrics`).then((answer) => answer.text()),
    ]);
    const pairs = listPairs(why);
    const appsInDoctor = doctor.findings.flatMap(
      (/** @type {{ what: string }} */ { what }) => /^"(.+?)" /.exec(what)?.[1] ?? [],
    );
    return {
      why: pairs,
      list: ofSlots(list),
      describe: ofSlots(described),
      // Its findings name the app only. All surfaces agree if it names the apps of `why`.
      doctor: pairs.filter((pair) => appsInDoctor.includes(pair.split(':')[0])),
      'apps in doctor': appsInDoctor.sort(),
      monit: listPairs(monit.troubles),
      page: listPairs(shown.troubles),
      prometheus: listPairs(
        (readPrometheus(exported).get('nclust_trouble')?.samples ?? []).map(
          ({ labels }) => /** @type {any} */ (labels),
        ),
      ),
    };
  }
  return { read, close: page.close };
}

/**
 * @param {string} text  The output of `nclust why`.
 * @param {string} root  The folder of the sandboxes.
 * @returns {string}  Without what is different in each night, and sorted by app.
 */
export function normalize(text, root) {
  const plain = text
    .replaceAll(root, '<root>')
    .replace(/nclust-test-\w+/g, '<sandbox>')
    .replace(/\b\d\d:\d\d:\d\d\b/g, '<clock>')
    .replace(/\b(\d+d )?(\d+h ?)?(\d+m ?)?\d+(\.\d+)?(ms|s|m|h)\b/g, '<time>')
    .replace(/\b\d+(\.\d+)? ?%/g, '<share>')
    .replace(/\b\d+(\.\d+)? ?(kb|mb|gb)\b/gi, '<size>')
    .replace(/ {2,}/g, '  ')
    .replace(/\buser \S+?(?=[,)]| find)/g, 'user <user>')
    .replace(/\d[\d.,]*(?<![.,])/g, '#');
  const [last, ...blocks] = splitBlocks(plain).reverse();
  return `${[...blocks.sort(), last].join('\n')}\n`;
}

/**
 * @param {string} text
 * @returns {string[]}  One for each trouble, and the last line.
 */
export function splitBlocks(text) {
  return text.trimEnd().split(/\n(?=bad |warn |What )/);
}
