/** Sounds: a spectrogram with axes, whose width is time, and a player. */

/** @import {Item} from "./types.js" */
import { h, put } from "./dom.js";

const LONGEST = 600; // seconds in a spectrogram
const LOWEST = 50; // Hz at its lower edge
const HIGHEST = 8000; // Hz at its upper edge
const KILOHERTZ = [0.5, 1, 2, 4, 8];
const MOST_TICKS = 6; // of the time axis
const WIDEST = 6; // times as long as the shortest sound of a question: what fits beside it, without scrolling
const PATIENCE = 4000; // milliseconds to wait for the length of a sound; some phones load nothing before it is played

let loops = false; // whether sounds are repeated; kept from one question to the next

/** @param {number} hertz */
const mel = (hertz) => Math.log10(1 + hertz / 700);

/**
 * The place of a pitch in a spectrogram: 0 at the bottom, 1 at the top.
 * @param {number} hertz
 */
export function placePitch(hertz) {
  return (mel(hertz) - mel(LOWEST)) / (mel(HIGHEST) - mel(LOWEST));
}

/**
 * The seconds that the width of a spectrogram stands for: those of the longest sound, unless the shortest would become too narrow to see.
 * @param {number[]} lengths 0 if unknown
 */
export function chooseSpan(lengths) {
  const known = lengths.filter((seconds) => seconds > 0);
  return known.length > 0 ? Math.min(Math.max(...known), WIDEST * Math.min(...known)) : 0;
}

/**
 * Round times for the axis of a sound: 0, 0.5, 1 and so on, six or seven of them in the width of a spectrogram.
 * @param {number} seconds in this width
 * @param {number} [until] the last time
 * @returns {number[]}
 */
export function chooseTimes(seconds, until = seconds) {
  const least = seconds / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= least * 0.999) ?? least;
  return Array.from({ length: Math.floor(until / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

/**
 * A sound with its spectrogram; `settle` is called when its length is known, or that it has none.
 * @param {Item} item
 * @param {string} letter
 * @param {() => void} settle
 */
export function soundView(item, letter, settle) {
  const player = h("audio", { controls: true, preload: "auto", "aria-label": `Sound ${letter}, ${item.title}` });
  const line = h("div", { class: "playhead", hidden: true });
  const shown = h("div", { class: "spectrogram" });
  const track = h("div", { class: "track", role: "group", "aria-label": `Spectrogram ${letter}`.trim() }, shown, h("div", { class: "times", "aria-hidden": "true" }));
  const plot = h("div", { class: "plot" }, pitchAxis(), track);
  const view = h("div", { class: "sound" }, item.spectrogram && plot, h("div", { class: "player" }, player, repeat()));
  if (item.spectrogram) {
    const image = h("img", { src: item.spectrogram, alt: `Spectrogram of ${item.title}`, draggable: "false" });
    image.addEventListener("error", () => image.replaceWith(h("span", { class: "muted small" }, "no spectrogram")));
    put(shown, image, line);
    track.addEventListener("keydown", (event) => {
      const way = track.tabIndex < 0 ? 0 : event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (way === 0) return;
      event.preventDefault(); // arrows also answer
      track.scrollLeft += (way * track.clientWidth) / 2;
    });
    shown.addEventListener("click", (event) => {
      if (!Number.isFinite(player.duration)) return;
      const box = shown.getBoundingClientRect();
      player.currentTime = ((event.clientX - box.left) / box.width) * drawn();
      void player.play();
    });
  }
  const drawn = () => Math.min(LONGEST, player.duration || 1);
  const follow = () => {
    if (!shown.isConnected) return player.pause();
    line.hidden = !Number.isFinite(player.duration) || player.duration === 0;
    line.style.left = `${Math.min(100, (100 * player.currentTime) / drawn())}%`;
    if (player.paused) return;
    const at = (shown.clientWidth * player.currentTime) / drawn();
    if (at < track.scrollLeft || at > track.scrollLeft + track.clientWidth) track.scrollLeft = at - track.clientWidth / 10;
    requestAnimationFrame(follow);
  };
  for (const event of ["play", "seeked", "pause", "ended"]) player.addEventListener(event, follow);
  player.addEventListener("play", () => {
    player.loop = loops;
    for (const other of document.querySelectorAll("audio")) if (other !== player) other.pause();
  });
  let settled = false;
  /** @param {number} seconds 0 if it is unknown */
  const know = (seconds) => {
    view.dataset["seconds"] = String(Math.min(LONGEST, seconds));
    if (settled) toOneScale([...(view.closest(".items, .closer") ?? view.parentElement ?? view).querySelectorAll(".sound")]);
    else settle();
    settled = true;
  };
  setTimeout(() => settled || know(0), PATIENCE);
  player.addEventListener("loadedmetadata", () => know(Number.isFinite(player.duration) ? player.duration : 0));
  player.addEventListener("error", () => {
    player.replaceWith(h("p", { class: "note warn broken" }, `“${item.title}” cannot be played here. You can still answer, or skip.`));
    know(0);
  });
  if (item.media) player.src = item.media;
  else player.dispatchEvent(new Event("error"));
  return view;
}

/** A button, not a checkbox: answers by key must go on to work after a click. */
function repeat() {
  return h("button", { type: "button", class: "quiet small loop", "aria-pressed": loops, on: { click: () => {
    loops = !loops;
    for (const other of document.querySelectorAll("button.loop")) other.setAttribute("aria-pressed", String(loops));
    for (const player of document.querySelectorAll("audio")) player.loop = loops;
  } } }, "Loop");
}

function pitchAxis() {
  const labels = KILOHERTZ.map((kilohertz) => {
    const label = h("span", null, String(kilohertz));
    label.style.setProperty("bottom", `${100 * placePitch(1000 * kilohertz)}%`);
    return label;
  });
  return h("div", { class: "pitches", "aria-hidden": "true" }, h("span", { class: "unit" }, "kHz"), ...labels);
}

/**
 * Draw the sounds of a question on one scale: a second is equally wide in all of them. The longest fills the width, or can be scrolled.
 * @param {Element[]} views
 */
export function toOneScale(views) {
  const found = /** @type {HTMLElement[]} */ (views);
  const span = chooseSpan(found.map((view) => Number(view.dataset["seconds"] ?? 0)));
  for (const view of found) {
    const seconds = Number(view.dataset["seconds"]) || span || 1;
    const width = (100 * seconds) / (span || 1);
    const whole = Math.max(seconds, span);
    const track = /** @type {HTMLElement | null} */ (view.querySelector(".track"));
    if (track === null) continue;
    track.parentElement?.classList.add("scaled");
    if (seconds > span && span > 0) track.tabIndex = 0; // to scroll it by keyboard
    else track.removeAttribute("tabindex");
    const [shown, axis] = /** @type {HTMLElement[]} */ ([...track.children]);
    shown?.style.setProperty("width", `${width}%`);
    axis?.style.setProperty("width", `${Math.max(100, width)}%`);
    const labels = (span > 0 ? chooseTimes(span, whole) : []).map((time) => {
      const label = h("span", { class: time > whole - 0.05 * span ? "end" : "" }, time === 0 ? "0 s" : String(time));
      label.style.setProperty("left", `${(100 * time) / whole}%`);
      return label;
    });
    axis?.replaceChildren(...labels);
  }
}

/**
 * Draw the small spectrograms of a question on one scale, when the length of each sound is known or it has failed to load. Of a sound that
 * is much longer than others the beginning is shown.
 * @param {HTMLElement[]} parts with cards, and an audio element for each sound
 */
export function toOneScaleSmall(parts) {
  const players = parts.flatMap((part) => [...part.querySelectorAll("audio[data-row]")]).map((player) => /** @type {HTMLAudioElement} */ (player));
  const scale = () => {
    if (players.some((player) => Number.isNaN(player.duration) && !player.error)) return;
    const loaded = players.filter((player) => !Number.isNaN(player.duration));
    const seconds = new Map(loaded.map((player) => [player.dataset["row"], Math.min(LONGEST, player.duration)]));
    const span = chooseSpan([...seconds.values()]);
    for (const image of parts.flatMap((part) => [...part.querySelectorAll(".example .of-sound img")])) {
      const own = seconds.get(/** @type {HTMLElement | null} */ (image.closest("[data-row]"))?.dataset["row"]);
      if (own) /** @type {HTMLElement} */ (image).style.setProperty("width", `${(100 * own) / span}%`);
    }
  };
  for (const player of players) {
    player.addEventListener("loadedmetadata", scale);
    player.addEventListener("error", scale);
  }
}
