/** Items: full size on the question page, small in galleries, and magnified. */

/** @import {Column, Item, Profile} from "./types.js" */
import { compareCells, formatCell, markTexts, orderColumns, placeInRange, rarityOf } from "./diff.js";
import { h, openDialog, s } from "./dom.js";
import { soundView, toOneScale } from "./sound.js";
import { zoomTogether } from "./zoom.js";

const TINY = 96; // pixels; smaller images are enlarged without smoothing
const FOLDED = 900; // characters of a long text that are shown at first
const NOTABLE = 1; // typical differences of its column from which a cell is marked
const STRONG = 2; // from which it is marked most strongly
const MOST_GROUPS = 12; // that are compared to order the columns of small cards
const MOST_EACH = 3; // rows of each of them
const MOST_LINES = 12; // columns of a small card
export const LETTERS = ["A", "B", "C"];

/** @type {Map<string, Column>} what is usual in each column */
let usual = new Map();
/** @type {string[]} the columns of small cards, those that set the groups on the page apart first; empty for the order of the data */
let ordered = [];
/** @type {((word: string) => number) | null} how rare words are */
let rarity = null;

/**
 * Set what is usual among the items, before any item is shown.
 * @param {Profile} profile
 */
export function useProfile(profile) {
  usual = new Map(profile.columns.map((column) => [column.name, column]));
  rarity = profile.words.length > 0 ? rarityOf(profile) : null;
}

/** The columns of the items, with what is usual in each. */
export function listColumns() {
  return [...usual.values()];
}

/**
 * Show first, in the small cards of rows, the columns that set some groups apart; without groups, keep the order of the data.
 * @param {Item[][]} groups
 */
export function orderCards(groups) {
  ordered = orderColumns(groups.slice(0, MOST_GROUPS).map((items) => items.slice(0, MOST_EACH).map((item) => item.cells)), usual);
}

/**
 * The figures of a question, with the differences between the items marked.
 * @param {Item[]} items
 * @param {{marks: boolean, onSettled?: () => void, asCards?: boolean}} options `onSettled`: all pictures and the lengths of all sounds have
 *   loaded or failed; `asCards`: columns in the order of the small cards
 * @returns {HTMLElement[]}
 */
export function figures(items, options) {
  let open = 1;
  /** @type {HTMLElement[]} */
  let found = [];
  const settle = () => {
    open -= 1;
    if (open > 0) return;
    toOneScale(found.flatMap((figure) => [...figure.querySelectorAll(".sound")]));
    options.onSettled?.();
  };
  const texts = options.marks && items.every((item) => item.text !== null) ? markTexts(items.map((item) => item.text ?? ""), rarity) : null;
  const cells = compareCells(items.map((item) => (options.asCards ? sortCells(item.cells) : item.cells)), usual);
  found = items.map((item, i) => {
    const letter = LETTERS[i] ?? "";
    const parts = [];
    if (item.kind === "image" || item.kind === "sound") {
      open += item.broken ? 0 : 1;
      parts.push(item.broken ? brokenNote(item) : item.kind === "image" ? picture(item, letter, items, settle) : soundView(item, letter, settle));
    }
    if (item.text !== null) parts.push(text(item, letter, texts?.[i] ?? null));
    if (item.cells.length > 0) parts.push(table(item, i, cells, options.marks));
    if (parts.length === 0) parts.push(h("p", { class: "muted" }, item.broken ?? "This item has nothing to show."));
    return h("figure", { class: `item item-${item.kind}`, "data-row": item.row, "data-letter": letter },
      h("figcaption", null, h("span", { class: "letter", "aria-hidden": "true" }, letter), h("span", { class: "sr" }, `${letter}: `),
        caption(item) && h("span", { class: "title", dir: "auto", title: item.title }, caption(item))),
      h("div", { class: "body" }, ...parts));
  });
  scrollTogether(found.flatMap((figure) => [...figure.querySelectorAll(".cells")]));
  queueMicrotask(settle); // for the initial value of `open`: there may be no pictures to wait for
  return found;
}

/**
 * The title, or the id if the title is only the beginning of the text; "" in a study, which hides the names.
 * @param {Item} item
 */
function caption(item) {
  if (item.id === "") return "";
  const begins = item.title.replace(/\s*(…|\.\.\.)$/, "");
  return item.text?.trim().replace(/\s+/g, " ").startsWith(begins) ? item.id : item.title;
}

/** @param {Item} item */
function brokenNote(item) {
  return h("p", { class: "note warn broken" }, h("strong", null, "This file cannot be shown. "), item.broken ?? "",
    " You can still answer, or skip the question.");
}

/**
 * A picture that enlarges all pictures beside it, because they are to be compared.
 * @param {Item} item
 * @param {string} letter
 * @param {Item[]} items
 * @param {() => void} settle
 */
function picture(item, letter, items, settle) {
  const image = imageOf(item, item.media ?? item.thumb, "eager", settle);
  return h("button", { type: "button", class: "picture", "aria-label": `Enlarge ${letter}, ${item.title}`, on: { click: () => zoom(items) } }, image);
}

/**
 * An <img> that falls back to the thumbnail, then to text.
 * @param {Item} item
 * @param {string | null} address
 * @param {"eager" | "lazy"} loading
 * @param {() => void} [settle]
 * @param {string} [alt]
 */
function imageOf(item, address, loading, settle, alt = item.title) {
  const image = h("img", { alt, loading, decoding: "async", draggable: "false" });
  image.addEventListener("load", () => {
    image.classList.toggle("tiny", image.naturalWidth < TINY && image.naturalHeight < TINY);
    settle?.();
  });
  image.addEventListener("error", () => {
    if (item.thumb && !image.src.endsWith(item.thumb)) {
      image.src = item.thumb;
      return;
    }
    const words = h("span", { class: "note warn broken" }, `“${item.title}” could not be loaded. You can still answer, or skip.`);
    image.replaceWith(words);
    settle?.();
  });
  if (address) image.src = address;
  else image.dispatchEvent(new Event("error"));
  return image;
}

/**
 * Text for screen readers, with its own direction, so that it does not affect the direction of the surrounding text,
 * which depends on its first letter.
 * @param {string} words
 */
function unseen(words) {
  return h("span", { class: "sr", dir: "ltr" }, words);
}

/**
 * @param {Item} item
 * @param {string} letter
 * @param {import("./diff.js").Piece[] | null} marked
 */
function text(item, letter, marked) {
  const all = marked ?? [{ text: item.text ?? "", only: false, shared: false, rarity: 0 }];
  const [first, rest] = fold(all);
  /** @param {import("./diff.js").Piece} piece */
  const draw = (piece) => {
    if (!piece.only && !piece.shared) return piece.text;
    const mark = h("mark", { class: piece.only ? "" : "shared" }, unseen(piece.only ? " only here: " : " in both: "), piece.text, unseen(". "));
    mark.style.setProperty("--rare", `${Math.round(35 + 65 * piece.rarity)}%`);
    return mark;
  };
  // Focusable, so that it can be scrolled by keyboard.
  const shown = h("div", { class: "text", tabindex: "0", role: "group", "aria-label": `Text ${letter}`, dir: "auto" }, ...first.map(draw));
  if (rest.length > 0) {
    const hidden = rest.filter((piece) => piece.only || piece.shared).length;
    const length = (item.text ?? "").length.toLocaleString("en");
    const more = h("button", { type: "button", class: "small fold" }, `Show all ${length} characters${hidden ? `, ${hidden} more marked` : ""}`);
    more.addEventListener("click", () => {
      more.remove();
      shown.append(...rest.map(draw));
      shown.focus();
    });
    shown.append("… ", more);
  }
  return shown;
}

/**
 * The beginning of a long text, and the rest, which is folded; cut between words.
 * @param {import("./diff.js").Piece[]} pieces
 * @returns {[import("./diff.js").Piece[], import("./diff.js").Piece[]]}
 */
function fold(pieces) {
  if (pieces.reduce((sum, piece) => sum + piece.text.length, 0) <= 1.3 * FOLDED) return [pieces, []];
  let left = FOLDED;
  const at = pieces.findIndex((piece) => (left -= piece.text.length) < 0);
  const piece = /** @type {import("./diff.js").Piece} */ (pieces[at]);
  const end = piece.text.length + left;
  const space = piece.text.slice(0, end).search(/\s\S*$/);
  const cut = space > 0 ? space : end;
  return [
    [...pieces.slice(0, at), { ...piece, text: piece.text.slice(0, cut) }],
    [{ ...piece, text: piece.text.slice(cut) }, ...pieces.slice(at + 1)],
  ];
}

/**
 * The name of a column, which may break after the signs that join its words.
 * @param {string} name
 */
function columnName(name) {
  return name.split(/(?<=[_/.:-])/).flatMap((part, i) => (i === 0 ? [part] : [h("wbr", null), part]));
}

/**
 * The cells of a row: the columns that set the items apart first, each value with its place in the range of its column.
 * @param {Item} item
 * @param {number} i
 * @param {ReturnType<typeof compareCells>} compared
 * @param {boolean} marks
 */
function table(item, i, compared, marks) {
  const rows = compared.columns.map((name, c) => {
    const value = compared.values[c]?.[i] ?? null;
    const apart = marks ? (compared.apart[c]?.[i] ?? 0) : 0;
    const column = usual.get(name);
    const bar = range(compared.values[c] ?? [], i, column);
    const cell = h("td", { dir: "auto", colspan: bar ? null : "2", class: bar ? "number" : "" },
      value === null || value === "" ? h("span", { class: "muted" }, "empty") : h("span", { title: bar ? value : null }, formatCell(value, column)),
      apart >= NOTABLE && h("span", { class: "sr" }, " (differs)"));
    const row = h("tr", { class: apart >= NOTABLE ? "apart" : marks && apart === 0 ? "equal" : "" }, h("th", { scope: "row", dir: "auto" }, columnName(name)), cell, bar && h("td", { class: "placed" }, bar));
    row.style.setProperty("--apart", `${Math.round(100 * Math.min(1, Math.max(0, apart - NOTABLE / 2) / (STRONG - NOTABLE / 2)))}%`);
    return row;
  });
  return h("div", { class: "scroll cells", tabindex: "0", role: "group", "aria-label": `Columns of ${item.title}` },
    h("table", null, h("caption", { class: "sr" }, `Columns of ${item.title}`), h("tbody", null, ...rows)));
}

/**
 * A bar with the range of a column, its middle half, the value of an item, and those of the others as thin lines.
 * @param {(string | null)[]} values
 * @param {number} i
 * @param {Column | undefined} column
 */
function range(values, i, column) {
  const place = placeInRange(values[i] ?? null, column);
  if (place === null || !column?.middle) return null;
  /** @param {string} name @param {number} from @param {number} [to] */
  const part = (name, from, to) => {
    const found = h("span", { class: name });
    found.style.setProperty("left", `${100 * from}%`);
    if (to !== undefined) found.style.setProperty("width", `${100 * (to - from)}%`);
    return found;
  };
  const [from, to] = column.middle.map((value) => placeInRange(String(value), column) ?? 0);
  const others = values.flatMap((value, j) => {
    const at = j === i ? null : placeInRange(value, column);
    return at === null ? [] : [part("other", at)];
  });
  const [low, high, first, last] = [column.low ?? 0, column.high ?? 0, ...column.middle].map((value) => formatCell(String(value), column));
  const words = `The column goes from ${low} to ${high}; half of the rows are between ${first} and ${last}.`;
  return h("span", { class: "range", title: words, "aria-hidden": "true" }, part("middle", from ?? 0, to), ...others, part("here", place));
}

/**
 * Scroll the tables of the items of a question together, so that the same column is always side by side.
 * @param {Element[]} tables
 */
function scrollTogether(tables) {
  for (const one of tables) {
    one.addEventListener("scroll", () => {
      for (const other of tables) if (other !== one && other.scrollTop !== one.scrollTop) other.scrollTop = one.scrollTop;
    });
  }
}

/**
 * Cells in the order of the small cards.
 * @param {Item["cells"]} cells
 */
function sortCells(cells) {
  const place = new Map(ordered.map((name, at) => [name, at]));
  return [...cells].sort(([a], [b]) => (place.get(a) ?? ordered.length) - (place.get(b) ?? ordered.length));
}

/**
 * The cells of a small card, one column per line; of several rows, the values between which they are.
 * @param {Item[]} items
 */
function lines(items) {
  const maps = items.map((item) => new Map(item.cells));
  const names = sortCells(items[0]?.cells ?? []).map(([name]) => name).filter((name) => maps.some((map) => map.get(name)));
  return h("span", { class: "lines" }, ...names.slice(0, MOST_LINES).map((name) => {
    const column = usual.get(name);
    const values = maps.map((map) => map.get(name) ?? "");
    return h("span", { class: "line" }, h("span", { class: "column", dir: "auto" }, columnName(name)), h("span", { class: "sr" }, ": "),
      h("span", { class: "value", dir: "auto" }, summarize(values, column)), range(values, 0, column));
  }));
}

/**
 * Some values of a column in few words: the lowest and the highest number, or the different words.
 * @param {string[]} values
 * @param {Column | undefined} column
 */
function summarize(values, column) {
  const known = values.filter((value) => value !== "");
  const shown = [...new Set(known.map((value) => formatCell(value, column)))];
  if (shown.length < 2 || known.some((value) => placeInRange(value, column) === null)) return shown.join(", ");
  const sorted = [...known].sort((a, b) => Number(a) - Number(b));
  return `${formatCell(sorted[0] ?? "", column)} to ${formatCell(sorted.at(-1) ?? "", column)}`;
}

/**
 * One small card of several rows of a table: side by side they would have no room for the bars.
 * @param {Item[]} items
 */
export function rowsCard(items) {
  return h("figure", { class: "item-card of-row", "data-row": items[0]?.row }, h("div", { class: "shown" }, lines(items)));
}

/** @param {string} d */
export function glyph(d) {
  return s("svg", { viewBox: "0 0 24 24", class: "glyph", "aria-hidden": "true" }, s("path", { d }));
}

/**
 * A small card of an item. With `onOpen` it is a button; by default it opens the magnifier.
 * @param {Item} item
 * @param {{onOpen?: ((item: Item) => void) | null, name?: boolean}} [options]
 * @returns {HTMLElement}
 */
export function itemCard(item, options = {}) {
  const open = options.onOpen === undefined ? () => zoom([item]) : options.onOpen;
  const address = item.kind === "sound" ? (item.spectrogram ?? item.thumb) : item.kind === "image" ? (item.thumb ?? item.media) : null;
  const shown = item.broken
    ? h("span", { class: "words muted" }, "cannot be shown")
    : address
      ? imageOf({ ...item, thumb: null }, address, "lazy", undefined, !open && options.name !== false && caption(item) ? "" : item.title) // the name is beside it
      : item.text === null && item.cells.some(([, value]) => value !== "") ? lines([item]) : h("span", { class: "words", dir: "auto" }, item.text ?? item.title);
  const frame = open
    ? h("button", { type: "button", class: "shown", "aria-label": `Enlarge ${item.title}`, on: { click: () => open(item) } }, shown)
    : h("div", { class: "shown" }, shown);
  return h("figure", { class: `item-card of-${item.kind}`, "data-row": item.row }, frame,
    options.name !== false && caption(item) && h("figcaption", { class: "name", dir: "auto", title: item.title }, caption(item)));
}

/**
 * An item in full size, outside of a question.
 * @param {Item} item
 * @returns {HTMLElement}
 */
export function itemFigure(item) {
  const [figure] = figures([item], { marks: false });
  const found = /** @type {HTMLElement} */ (figure);
  found.querySelector(".letter")?.remove();
  found.querySelector("figcaption .sr")?.remove();
  return found;
}

/**
 * Magnify items in a dialog (wheel, pinch, +, − and arrows); items side by side move together.
 * @param {Item[]} items
 */
export function zoom(items) {
  const images = items.filter((item) => item.kind === "image" && !item.broken && (item.media ?? item.thumb));
  if (images.length === 0) {
    openDialog("Enlarged", [h("div", { class: "closer" }, ...items.map((item) => itemFigure(item)))], { class: "wide" });
    return;
  }
  const frames = images.map((item) => h("div", { class: "frame" }, imageOf(item, item.media ?? item.thumb, "eager")));
  const percentage = h("output", { class: "number small muted", "aria-live": "polite" });
  const together = zoomTogether(frames, (scale) => { percentage.textContent = `${Math.round(scale * 100)} %`; });
  const how = `Zoom with the wheel, a pinch, + or −; move with the mouse or the arrow keys; 0 shows all; close with Esc.${images.length > 1 ? " The pictures move together." : ""}`;
  const dialog = openDialog(images.map((item) => item.title).join(" · "), [
    h("div", { class: "frames" }, ...frames),
    h("div", { class: "row" },
      h("button", { type: "button", "aria-label": "Zoom out", on: { click: together.zoomOut } }, "−"), percentage,
      h("button", { type: "button", "aria-label": "Zoom in", on: { click: together.zoomIn } }, "+"),
      h("button", { type: "button", on: { click: together.reset } }, "Reset"),
      h("span", { class: "muted small" }, how)),
  ], { class: "wide zoomed" });
  dialog.addEventListener("keydown", (event) => {
    const onButton = event.target instanceof Element && event.target.closest("button");
    if (event.key === " " && !onButton) {
      event.preventDefault();
      dialog.close();
    } else if (together.onKey(event)) event.preventDefault();
  });
  dialog.querySelector("h2")?.focus(); // so that Space also closes what Space opened
}

/**
 * Load what the small card of an item shows.
 * @param {Item} item
 */
export function preloadSmall(item) {
  const address = item.kind === "sound" ? item.spectrogram : item.kind === "image" ? (item.thumb ?? item.media) : null;
  if (address && !item.broken) new Image().src = address;
}

/**
 * Load the files of an item before its question is shown.
 * @param {Item} item
 */
export function preload(item) {
  if (item.broken) return;
  for (const address of [item.kind === "image" ? (item.media ?? item.thumb) : null, item.spectrogram]) {
    if (!address) continue;
    const image = new Image();
    image.src = address;
    image.decode().catch(() => {}); // reported when the item is shown
  }
  if (item.kind === "sound" && item.media) void fetch(item.media, { credentials: "same-origin" }).catch(() => {});
}
