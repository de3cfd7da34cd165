/** Differences between items: words of texts, cells of rows. Pure functions of strings. */

/** @typedef {{text: string, only: boolean}} Piece  `only`: occurs only on this side */

const LIMIT = 600; // words per side up to which the order matters; the table has LIMIT² cells
const CAP = 4000; // maximum number of words per side

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
 * Mark the words of each of two or three texts that the others do not have.
 *
 * Two short texts are compared by their longest common subsequence, longer ones and three texts by their sets of words.
 * @param {string[]} texts
 * @returns {Piece[][]}
 */
export function markTexts(texts) {
  const cut = texts.map((text) => words(text));
  const [a, b] = cut;
  if (cut.length === 2 && a && b && a.length <= 2 * LIMIT && b.length <= 2 * LIMIT) return inOrder(a, b);
  const sets = cut.map((side) => new Set(side.slice(0, 2 * CAP).map(folded)));
  return cut.map((side, i) => {
    const only = side.map((word, at) => at < 2 * CAP && counts(word) && sets.every((set, j) => j === i || !set.has(folded(word))));
    return pieces(side, only);
  });
}

/**
 * @param {string[]} a
 * @param {string[]} b
 * @returns {Piece[][]}
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
  return [pieces(a, onlyA), pieces(b, onlyB)];
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
 * @returns {Piece[]}
 */
function pieces(side, only) {
  /** @type {Piece[]} */
  const found = [];
  side.forEach((text, i) => {
    const marked = Boolean(only[i]) || (/^\s+$/.test(text) && !text.includes("\n") && Boolean(only[i - 1]) && Boolean(only[i + 1]));
    const last = found.at(-1);
    if (last && last.only === marked) last.text += text;
    else found.push({ text, only: marked });
  });
  return found;
}

/**
 * For each item and column, whether the cell differs from the others.
 *
 * With two rows, both cells of a column are marked or neither; with three, only the one that differs if two agree.
 * @param {[string, string][][]} rows column and value of each item
 * @returns {{columns: string[], values: (string | null)[][], apart: boolean[][]}} by column, then by item
 */
export function compareCells(rows) {
  const columns = [...new Set(rows.flatMap((row) => row.map(([column]) => column)))];
  const maps = rows.map((row) => new Map(row));
  const values = columns.map((column) => maps.map((map) => map.get(column) ?? null));
  const apart = values.map((cells) => cells.map((value) => cells.filter((other) => equalCells(other, value)).length === 1 && cells.length > 1));
  return { columns, values, apart };
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
