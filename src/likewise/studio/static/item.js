/** Items: full size on the question page, small in galleries, and magnified. */

/** @import {Item} from "./types.js" */
import { compareCells, markTexts } from "./diff.js";
import { h, openDialog, put, s } from "./dom.js";

const TINY = 96; // pixels; smaller images are enlarged without smoothing
export const LETTERS = ["A", "B", "C"];

/**
 * The figures of a question, with the differences between the items marked.
 * @param {Item[]} items
 * @param {{marks: boolean, onSettled?: () => void}} options `onSettled`: all pictures have loaded or failed
 * @returns {HTMLElement[]}
 */
export function figures(items, options) {
  let open = 1;
  const settle = () => {
    open -= 1;
    if (open === 0) options.onSettled?.();
  };
  const texts = options.marks && items.every((item) => item.text !== null) ? markTexts(items.map((item) => item.text ?? "")) : null;
  const cells = compareCells(items.map((item) => item.cells));
  const found = items.map((item, i) => {
    const letter = LETTERS[i] ?? "";
    const parts = [];
    if (item.kind === "image" || item.kind === "sound") {
      open += item.kind === "image" && !item.broken ? 1 : 0;
      parts.push(item.broken ? brokenNote(item) : item.kind === "image" ? picture(item, letter, settle) : sound(item, letter));
    }
    if (item.text !== null) parts.push(text(item, letter, texts?.[i] ?? null));
    if (item.cells.length > 0) parts.push(table(item, i, cells, options.marks));
    if (parts.length === 0) parts.push(h("p", { class: "muted" }, item.broken ?? "This item has nothing to show."));
    return h("figure", { class: `item item-${item.kind}`, "data-row": item.row, "data-letter": letter },
      h("figcaption", null, h("span", { class: "letter", "aria-hidden": "true" }, letter), h("span", { class: "sr" }, `${letter}: `),
        h("span", { class: "title", dir: "auto", title: item.title }, caption(item))),
      h("div", { class: "body" }, ...parts));
  });
  queueMicrotask(settle); // for the initial value of `open`: there may be no pictures to wait for
  return found;
}

/**
 * The title, or the id if the title is only the beginning of the text.
 * @param {Item} item
 */
function caption(item) {
  const begins = item.title.replace(/\s*(…|\.\.\.)$/, "");
  return item.text?.trim().replace(/\s+/g, " ").startsWith(begins) ? item.id : item.title;
}

/** @param {Item} item */
function brokenNote(item) {
  return h("p", { class: "note warn broken" }, h("strong", null, "This file cannot be shown. "), item.broken ?? "",
    " You can still answer, or skip the question.");
}

/**
 * @param {Item} item
 * @param {string} letter
 * @param {() => void} settle
 */
function picture(item, letter, settle) {
  const image = imageOf(item, item.media ?? item.thumb, "eager", settle);
  return h("button", { type: "button", class: "picture", "aria-label": `Enlarge ${letter}, ${item.title}`, on: { click: () => zoom([item]) } }, image);
}

/**
 * An <img> that falls back to the thumbnail, then to text.
 * @param {Item} item
 * @param {string | null} address
 * @param {"eager" | "lazy"} loading
 * @param {() => void} [settle]
 */
function imageOf(item, address, loading, settle) {
  const image = h("img", { alt: item.title, loading, decoding: "async", draggable: "false" });
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
 * @param {Item} item
 * @param {string} letter
 */
function sound(item, letter) {
  const player = h("audio", { controls: true, preload: "auto", src: item.media, "aria-label": `Sound ${letter}, ${item.title}` });
  const line = h("div", { class: "playhead", hidden: true });
  const shown = h("div", { class: "spectrogram" });
  if (item.spectrogram) {
    const image = h("img", { src: item.spectrogram, alt: `Spectrogram of ${item.title}`, draggable: "false" });
    image.addEventListener("error", () => image.replaceWith(h("span", { class: "muted small" }, "no spectrogram")));
    put(shown, image, line);
    shown.addEventListener("click", (event) => {
      if (!Number.isFinite(player.duration)) return;
      const box = shown.getBoundingClientRect();
      player.currentTime = ((event.clientX - box.left) / box.width) * player.duration;
      void player.play();
    });
  }
  const follow = () => {
    if (!shown.isConnected) return player.pause();
    line.hidden = !Number.isFinite(player.duration) || player.duration === 0;
    line.style.left = `${(100 * player.currentTime) / (player.duration || 1)}%`;
    if (!player.paused) requestAnimationFrame(follow);
  };
  for (const event of ["play", "seeked", "pause", "ended"]) player.addEventListener(event, follow);
  player.addEventListener("play", () => {
    for (const other of document.querySelectorAll("audio")) if (other !== player) other.pause();
  });
  player.addEventListener("error", () => {
    player.replaceWith(h("p", { class: "note warn broken" }, `“${item.title}” cannot be played here. You can still answer, or skip.`));
  });
  return h("div", { class: "sound" }, shown, player);
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
  const body = marked
    ? marked.map((piece) => (piece.only ? h("mark", null, unseen(" only here: "), piece.text, unseen(". ")) : piece.text))
    : [item.text ?? ""];
  // Focusable, so that it can be scrolled by keyboard.
  return h("div", { class: "text", tabindex: "0", role: "group", "aria-label": `Text ${letter}`, dir: "auto" }, ...body);
}

/**
 * @param {Item} item
 * @param {number} i
 * @param {ReturnType<typeof compareCells>} compared
 * @param {boolean} marks
 */
function table(item, i, compared, marks) {
  const rows = compared.columns.flatMap((column, c) => {
    const value = compared.values[c]?.[i] ?? null;
    const apart = marks && Boolean(compared.apart[c]?.[i]);
    const equal = marks && !apart;
    return [h("tr", { class: apart ? "apart" : equal ? "equal" : "" },
      h("th", { scope: "row", dir: "auto" }, column),
      h("td", { dir: "auto" }, apart && glyph("M5 9h14M5 15h14M16 4L8 20"), value === null || value === "" ? h("span", { class: "muted" }, "empty") : value,
        apart && h("span", { class: "sr" }, " (differs)")))];
  });
  return h("div", { class: "scroll cells", tabindex: "0", role: "group", "aria-label": `Columns of ${item.title}` },
    h("table", null, h("caption", { class: "sr" }, `Columns of ${item.title}`), h("tbody", null, ...rows)));
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
      ? imageOf({ ...item, thumb: null }, address, "lazy")
      : h("span", { class: "words", dir: "auto" }, item.text ?? (item.cells.filter(([, value]) => value !== "").slice(0, 5).map(([column, value]) => `${column}: ${value}`).join("\n") || item.title));
  const frame = open
    ? h("button", { type: "button", class: "shown", "aria-label": `Enlarge ${item.title}`, on: { click: () => open(item) } }, shown)
    : h("div", { class: "shown" }, shown);
  return h("figure", { class: `item-card of-${item.kind}`, "data-row": item.row }, frame,
    options.name !== false && h("figcaption", { class: "name", dir: "auto", title: item.title }, caption(item)));
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
  let scale = 1;
  let x = 0;
  let y = 0;
  const frames = images.map((item) => h("div", { class: "frame" }, imageOf(item, item.media ?? item.thumb, "eager")));
  const percentage = h("output", { class: "number small muted", "aria-live": "polite" });
  const draw = () => {
    scale = Math.min(40, Math.max(1, scale));
    const most = (scale - 1) / (2 * scale);
    x = Math.min(most, Math.max(-most, x));
    y = Math.min(most, Math.max(-most, y));
    for (const frame of frames) {
      const image = frame.querySelector("img");
      if (image) image.style.transform = `scale(${scale}) translate(${100 * x}%, ${100 * y}%)`;
    }
    percentage.textContent = `${Math.round(scale * 100)} %`;
  };
  /** @param {number} factor */
  const by = (factor) => { scale *= factor; draw(); };
  /** @param {number} dx @param {number} dy */
  const move = (dx, dy) => { x += dx / scale; y += dy / scale; draw(); };

  /** @type {Map<number, PointerEvent>} */
  const fingers = new Map();
  for (const frame of frames) {
    frame.addEventListener("wheel", (event) => { event.preventDefault(); by(Math.exp(-event.deltaY / 400)); }, { passive: false });
    frame.addEventListener("dblclick", () => { scale = scale > 1 ? 1 : 3; draw(); });
    frame.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, event); frame.setPointerCapture(event.pointerId); });
    for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) frame.addEventListener(end, (event) => fingers.delete(event.pointerId));
    frame.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
      if (other) {
        const was = Math.hypot(before.clientX - other.clientX, before.clientY - other.clientY);
        by(Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY) / Math.max(was, 1));
      } else move((event.clientX - before.clientX) / frame.clientWidth, (event.clientY - before.clientY) / frame.clientHeight);
      fingers.set(event.pointerId, event);
    });
  }
  const dialog = openDialog(images.map((item) => item.title).join(" · "), [
    h("div", { class: "frames" }, ...frames),
    h("div", { class: "row" },
      h("button", { type: "button", "aria-label": "Zoom out", on: { click: () => by(1 / 1.5) } }, "−"), percentage,
      h("button", { type: "button", "aria-label": "Zoom in", on: { click: () => by(1.5) } }, "+"),
      h("span", { class: "muted small" }, "Zoom with the wheel, a pinch, + or −; move with the arrow keys; close with Esc.")),
  ], { class: "wide zoomed" });
  dialog.addEventListener("keydown", (event) => {
    const acts = /** @type {Record<string, () => void>} */ ({
      "+": () => by(1.5), "=": () => by(1.5), "-": () => by(1 / 1.5), "0": () => { scale = 1; draw(); },
      ArrowLeft: () => move(0.1, 0), ArrowRight: () => move(-0.1, 0), ArrowUp: () => move(0, 0.1), ArrowDown: () => move(0, -0.1),
    });
    const onButton = event.target instanceof Element && event.target.closest("button");
    if (event.key === " " && !onButton) {
      event.preventDefault();
      dialog.close();
    } else if (acts[event.key]) {
      event.preventDefault();
      acts[event.key]?.();
    }
  });
  dialog.querySelector("h2")?.focus(); // so that Space also closes what Space opened
  draw();
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
