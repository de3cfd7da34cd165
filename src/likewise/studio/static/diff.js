/** Differences between items: words of texts, cells of rows. Pure functions of strings. */

/** @import {Column} from "./types.js" */
/**
 * @typedef {object} Piece
 * @property {string} text
 * @property {boolean} only  occurs only on this side
 * @property {boolean} shared  a rare word that another side has, too
 * @property {number} rarity  of its rarest word, from 0 to 1; 0 if it is not marked
 */

const LIMIT = 600; // words per side up to which the order matters; the table has LIMIT² cells
const CAP = 4000; // maximum number of words per side
const MOST = 12; // different words of each kind that are marked per side: the rarest

/**
 * Split into words and separators; joined again they are the same text.
 * @param {string} text
 * @returns {string[]}
 */
export function words(text) {
  return text.match(/[\p{L}\p{N}\p{M}_]+|[^\p{L}\p{N}\p{M}_\s]|\s+/gu) ?? [];
}

/** @param {string} word */
function folded(word) {
  return word.normalize("NFC").toLocaleLowerCase();
}

/** @param {string} word */
function counts(word) {
  return /[\p{L}\p{N}]/u.test(word);
}

/**
 * How rare each word is among the texts of the project: 1 if one text has it, 0 if too many have it to matter.
 * @param {{n: number, words: [string, number][]}} profile
 * @returns {(word: string) => number}
 */
export function rarityOf({ n, words: common }) {
  const counted = new Map(common);
  const most = Math.min(0.4, 0.2 + 20 / n) * n;
  return (word) => {
    const having = counted.get(word) ?? 1;
    return n < 2 ? 1 : having > most ? 0 : Math.log(n / having) / Math.log(n);
  };
}

/**
 * Mark the words that matter in each of two or three texts: those that the others do not have, and rare ones that they share.
 *
 * Two short texts are compared by their longest common subsequence, longer ones and three texts by their sets of words.
 * @param {string[]} texts
 * @param {((word: string) => number) | null} [rarity] of a word; without it, all words that the others do not have are marked
 * @returns {Piece[][]}
 */
export function markTexts(texts, rarity = null) {
  const cut = texts.map((text) => words(text));
  const only = findOnly(cut);
  if (rarity === null) return cut.map((side, i) => pieces(side, only[i] ?? [], [], () => 1));
  const sets = cut.map((side) => new Set(side.slice(0, 2 * CAP).map(folded)));
  return cut.map((side, i) => {
    const shared = side.map((word, at) => at < 2 * CAP && counts(word) && sets.some((set, j) => j !== i && set.has(folded(word))));
    return pieces(side, rarest(side, only[i] ?? [], rarity), rarest(side, shared, rarity), rarity);
  });
}

/**
 * Of marked words, those that are among the rarest.
 * @param {string[]} side
 * @param {boolean[]} marked
 * @param {(word: string) => number} rarity
 */
function rarest(side, marked, rarity) {
  const found = new Set(side.filter((_, at) => marked[at]).map(folded));
  const kept = new Set([...found].filter((word) => rarity(word) > 0).sort((a, b) => rarity(b) - rarity(a)).slice(0, MOST));
  return side.map((word, at) => Boolean(marked[at]) && kept.has(folded(word)));
}

/**
 * For each word of each side, whether the others do not have it.
 * @param {string[][]} cut
 * @returns {boolean[][]}
 */
function findOnly(cut) {
  const [a, b] = cut;
  if (cut.length === 2 && a && b && a.length <= 2 * LIMIT && b.length <= 2 * LIMIT) return inOrder(a, b);
  const sets = cut.map((side) => new Set(side.slice(0, 2 * CAP).map(folded)));
  return cut.map((side, i) => side.map((word, at) => at < 2 * CAP && counts(word) && sets.every((set, j) => j === i || !set.has(folded(word)))));
}

/**
 * @param {string[]} a
 * @param {string[]} b
 * @returns {boolean[][]}
 */
function inOrder(a, b) {
  const left = a.flatMap((word, at) => (counts(word) ? [{ word: folded(word), at }] : []));
  const right = b.flatMap((word, at) => (counts(word) ? [{ word: folded(word), at }] : []));
  const width = right.length + 1;
  const best = new Uint16Array((left.length + 1) * width); // length of the longest common subsequence from (i, j)
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const same = left[i]?.word === right[j]?.word;
      best[i * width + j] = same
        ? at(best, (i + 1) * width + j + 1) + 1
        : Math.max(at(best, (i + 1) * width + j), at(best, i * width + j + 1));
    }
  }
  const onlyA = a.map(counts);
  const onlyB = b.map(counts);
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const l = left[i];
    const r = right[j];
    if (!l || !r) break;
    if (l.word === r.word) {
      onlyA[l.at] = false;
      onlyB[r.at] = false;
      i++;
      j++;
    } else if (at(best, (i + 1) * width + j) >= at(best, i * width + j + 1)) i++;
    else j++;
  }
  return [onlyA, onlyB];
}

/**
 * @param {Uint16Array} table
 * @param {number} i
 */
function at(table, i) {
  return table[i] ?? 0;
}

/**
 * Merge equal neighbours; space between two marked words is marked too.
 * @param {string[]} side
 * @param {boolean[]} only
 * @param {boolean[]} shared
 * @param {(word: string) => number} rarity
 * @returns {Piece[]}
 */
function pieces(side, only, shared, rarity) {
  /** @type {Piece[]} */
  const found = [];
  /** @param {boolean[]} marked @param {number} i */
  const has = (marked, i) => Boolean(marked[i]) || (/^\s+$/.test(side[i] ?? "") && !(side[i] ?? "").includes("\n") && Boolean(marked[i - 1]) && Boolean(marked[i + 1]));
  side.forEach((text, i) => {
    const next = { text, only: has(only, i), shared: !has(only, i) && has(shared, i), rarity: 0 };
    if (only[i] || shared[i]) next.rarity = rarity(folded(text));
    const last = found.at(-1);
    if (last && last.only === next.only && last.shared === next.shared) {
      last.text += text;
      last.rarity = Math.max(last.rarity, next.rarity);
    } else found.push(next);
  });
  return found;
}

const SHOWN = 3; // differences beyond this many typical ones count alike

/**
 * Compare rows of a table column by column, the columns that set them apart most first.
 *
 * A difference of 1 is a typical one: that of two random rows (root mean square). `apart` has, for each cell, the difference
 * from the most similar cell of the others, so that of three cells the one that differs from two equal ones stands out.
 * @param {[string, string][][]} rows column and value of each item
 * @param {Map<string, Column>} [known] what is usual in each column
 * @returns {{columns: string[], values: (string | null)[][], apart: number[][]}} by column, then by item
 */
export function compareCells(rows, known = new Map()) {
  const names = [...new Set(rows.flatMap((row) => row.map(([column]) => column)))];
  const maps = rows.map((row) => new Map(row));
  const compared = names.map((name) => {
    const values = maps.map((map) => map.get(name) ?? null);
    const column = known.get(name);
    const gaps = values.map((value, i) => values.flatMap((other, j) => (i === j ? [] : [gap(value, other, column)])));
    return { name, values, apart: gaps.map((each) => (each.length ? Math.min(...each) : 0)), most: Math.max(0, ...gaps.flat()) };
  });
  compared.sort((a, b) => b.most - a.most); // stable: equal columns stay in the order of the table
  return { columns: compared.map((one) => one.name), values: compared.map((one) => one.values), apart: compared.map((one) => one.apart) };
}

/**
 * The columns of some groups of rows, first those in which the groups differ most and the rows of a group least.
 * @param {[string, string][][][]} groups
 * @param {Map<string, Column>} [known] what is usual in each column
 * @returns {string[]}
 */
export function orderColumns(groups, known = new Map()) {
  const rows = groups.flatMap((group, i) => group.map((cells) => ({ i, cells: new Map(cells) })));
  const names = [...new Set(groups.flat(2).map(([column]) => column))];
  const scored = names.map((name) => {
    const sums = [0, 0]; // of differences within groups and between them
    const counted = [0, 0];
    rows.forEach((a, at) => {
      for (const b of rows.slice(at + 1)) {
        const between = a.i === b.i ? 0 : 1;
        sums[between] = (sums[between] ?? 0) + gap(a.cells.get(name) ?? null, b.cells.get(name) ?? null, known.get(name));
        counted[between] = (counted[between] ?? 0) + 1;
      }
    });
    const [within = 0, between = 0] = sums.map((sum, k) => sum / Math.max(1, counted[k] ?? 0));
    return { name, score: between - within };
  });
  return scored.sort((a, b) => b.score - a.score).map((one) => one.name); // stable
}

/**
 * The difference of two cells in typical differences of their column.
 * @param {string | null} a
 * @param {string | null} b
 * @param {Column | undefined} column
 */
function gap(a, b, column) {
  if (equalCells(a, b)) return 0;
  const typical = column?.typical ?? 0;
  const x = number(a);
  const y = number(b);
  if (typical === 0) return 1;
  const size = column?.low === null ? 1 : x === null || y === null ? typical : Math.abs(x - y);
  return Math.min(SHOWN, size / typical);
}

/**
 * A cell as a number, or null.
 * @param {string | null} cell
 * @returns {number | null}
 */
export function number(cell) {
  if (cell === null || cell.trim() === "") return null;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}

/**
 * A cell with the decimals of its column; other cells as they are.
 * @param {string} cell
 * @param {Column | undefined} column
 */
export function formatCell(cell, column) {
  const value = number(cell);
  if (value === null || !column || column.low === null) return cell;
  return value.toFixed(column.decimals).replace("-", "\u2212");
}

/**
 * The place of a value in the range of its column, from 0 to 1; null if there is none.
 * @param {string | null} cell
 * @param {Column | undefined} column
 */
export function placeInRange(cell, column) {
  const value = number(cell);
  if (value === null || !column || column.low === null || column.high === null || column.high <= column.low) return null;
  return Math.min(1, Math.max(0, (value - column.low) / (column.high - column.low)));
}

/**
 * Compare cells; numbers by value: "1.0" equals "1".
 * @param {string | null} a
 * @param {string | null} b
 */
function equalCells(a, b) {
  if (a === null || b === null) return a === b;
  if (a.trim() === b.trim()) return true;
  if (a.trim() === "" || b.trim() === "") return false;
  return Number(a) === Number(b); // NaN never equals itself, so words give false
}
