/** Questions about groups: a placement, members of a group, two groups, and the name of a group. */

/** @import {Item, Question, Reply, ShownGroup} from "./types.js" */
import { blurAfterClick, h } from "./dom.js";
import { figures, itemCard, orderCards, rowsCard } from "./item.js";
import { toOneScaleSmall } from "./sound.js";

const MOST_TILES = 11;

/**
 * The content of a question about groups, and what its keys and buttons do.
 * @typedef {object} GroupQuestion
 * @property {HTMLElement[]} parts
 * @property {Record<string, () => void>} acts  by the name of the action
 * @property {() => void} [focus]  called when the question can be answered
 */

/**
 * @param {Question} question
 * @param {{give: (answer: Reply) => void, changed: () => void, onSettled: () => void, marks: boolean}} page
 *   `changed`: called when another answer would be given by the button that confirms
 * @returns {GroupQuestion | null} null for a question about items only
 */
export function drawGroupQuestion(question, page) {
  const tiles = question.kind === "members" ? question.items.slice(1).map((item) => [item]) : [];
  orderCards([...(question.groups ?? []).map((group) => group.items), ...tiles]);
  const draw = DRAW[question.kind];
  if (!draw) return null;
  const drawn = draw(question, page);
  toOneScaleSmall(drawn.parts);
  return drawn;
}

/**
 * The name of a group, or its place among the choices; the Groups page has other numbers.
 * @param {ShownGroup} group
 * @param {number} number
 */
function groupName(group, number) {
  return group.name ?? `Choice ${number}`;
}

/**
 * The first item of a question, as large as there is room.
 * @param {Question} question
 * @param {{marks: boolean, onSettled: () => void}} page
 */
function largeItem(question, page) {
  const [figure] = figures(question.items.slice(0, 1), { marks: false, asCards: true, onSettled: page.onSettled });
  const found = /** @type {HTMLElement} */ (figure);
  found.querySelector(".letter")?.remove();
  found.querySelector("figcaption .sr")?.remove();
  return found;
}

/**
 * An item in small form; a sound gets a button that plays it.
 * @param {Item} item
 */
function small(item) {
  return h("div", { class: `example of-${item.kind}` }, itemCard(item, { onOpen: null, name: false }));
}

/**
 * Buttons that play sounds; nothing for other items. They are not inside the button of the group, which would answer.
 * @param {Item[]} items
 */
function listen(items) {
  const sounds = items.filter((item) => item.kind === "sound" && item.media && !item.broken);
  return sounds.length > 0 && h("div", { class: "listens" }, ...sounds.map((item) => {
    const player = h("audio", { preload: "metadata", src: item.media, "data-row": item.row });
    return h("span", null, player, h("button", { type: "button", class: "quiet small", "aria-label": `Play ${item.title}`, on: { click: (event) => {
      blurAfterClick(event);
      for (const other of document.querySelectorAll("audio")) if (other !== player) other.pause();
      if (player.paused) {
        player.currentTime = 0;
        void player.play().catch(() => {});
      } else player.pause();
    } } }, "▶"));
  }));
}

/**
 * @param {Question} question
 * @param {Parameters<typeof drawGroupQuestion>[1]} page
 * @returns {GroupQuestion}
 */
function placement(question, page) {
  /** @type {GroupQuestion["acts"]} */
  const acts = { "placement.new": () => page.give("NEW"), "placement.unsure": () => page.give("UNSURE") };
  const cards = question.groups.map((group, i) => {
    const number = i + 1;
    const act = () => page.give({ groups: [number] });
    acts[`group.${number}`] = act;
    const name = groupName(group, number);
    const button = h("button", { type: "button", class: "choose", "data-action": `group.${number}`,
      "aria-label": `${number}, ${name}: ${group.items.map((item) => item.title).join(", ")}` },
    h("span", { class: "choose-head" }, h("span", { class: "letter", "aria-hidden": "true" }, number), h("span", { class: group.name ? "choose-name" : "choose-name unnamed", dir: "auto" }, name)),
    h("span", { class: "examples" }, ...(group.items.every((item) => item.kind === "row") ? [h("div", { class: "example of-row" }, rowsCard(group.items))] : group.items.map(small))));
    button.addEventListener("click", (event) => {
      blurAfterClick(event);
      act();
    });
    return h("div", { class: "choice-card" }, button, listen(group.items));
  });
  return { parts: [largeItem(question, page), h("div", { class: "choices", role: "group", "aria-label": "Groups" }, ...cards)], acts };
}

/**
 * @param {Question} question
 * @param {Parameters<typeof drawGroupQuestion>[1]} page
 * @returns {GroupQuestion}
 */
function members(question, page) {
  const tiles = question.items.slice(1, 1 + MOST_TILES);
  /** @type {Set<number>} */
  const odd = new Set();
  /** @type {GroupQuestion["acts"]} */
  const acts = {
    "members.confirm": () => page.give(odd.size === 0 ? "SAME" : { unlike: [...odd].sort((a, b) => a - b) }),
    "members.unsure": () => page.give("UNSURE"),
  };
  const cards = tiles.map((item, i) => {
    const number = i + 1;
    const button = h("button", { type: "button", class: "tap", "aria-pressed": "false", "data-action": `tile.${number}`, "aria-label": `${number}, ${item.title}: does not belong` },
      h("span", { class: "letter", "aria-hidden": "true" }, number), small(item), h("span", { class: "cross", "aria-hidden": "true" }, "does not belong"));
    const act = () => {
      if (!odd.delete(number)) odd.add(number);
      button.setAttribute("aria-pressed", String(odd.has(number)));
      page.changed();
    };
    acts[`tile.${number}`] = act;
    button.addEventListener("click", (event) => {
      blurAfterClick(event);
      act();
    });
    return h("div", { class: "choice-card" }, button, listen([item]));
  });
  const [group] = question.groups;
  const parts = [
    ...(group ? [groupPanel(group, "The group")] : []),
    h("div", { class: "taps", role: "group", "aria-label": "Select the items that do not belong to the group" }, ...cards),
  ];
  queueMicrotask(page.onSettled);
  return { parts, acts };
}

/**
 * A group, shown by its typical items.
 * @param {ShownGroup} group
 * @param {string} title
 */
function groupPanel(group, title) {
  return h("section", { class: "group-panel", "aria-label": group.name ?? title }, h("h2", { dir: "auto" }, group.name ?? title),
    h("div", { class: "examples" }, ...group.items.map((item) => h("div", { class: `example of-${item.kind}` }, itemCard(item, { name: false }), listen([item])))));
}

/**
 * @param {Question} question
 * @param {Parameters<typeof drawGroupQuestion>[1]} page
 * @returns {GroupQuestion}
 */
function twoGroups(question, page) {
  queueMicrotask(page.onSettled);
  return { parts: question.groups.map((group, i) => groupPanel(group, `Group ${"AB"[i]}`)), acts: {} };
}

/**
 * @param {Question} question
 * @param {Parameters<typeof drawGroupQuestion>[1]} page
 * @returns {GroupQuestion}
 */
function label(question, page) {
  const input = h("input", { type: "text", id: "group-name", maxlength: 80, autocomplete: "off", spellcheck: "false", enterkeyhint: "done", dir: "auto" });
  const offers = question.names.map((name) => h("button", { type: "button", class: "offer", dir: "auto", on: { click: () => page.give({ name }) } }, name));
  const save = () => {
    const name = input.value.trim();
    if (name) page.give({ name });
    else input.focus();
  };
  input.addEventListener("input", () => {
    const typed = input.value.trim().toLocaleLowerCase();
    for (const offer of offers) offer.classList.toggle("faint", !(offer.textContent ?? "").toLocaleLowerCase().includes(typed));
  });
  const form = h("form", { class: "name-form", on: { submit: (/** @type {Event} */ event) => { event.preventDefault(); save(); } } },
    h("label", { for: "group-name" }, "Name of the group"), input,
    offers.length > 0 && h("div", { class: "offers", role: "group", "aria-label": "Names in use" }, ...offers));
  const [group] = question.groups;
  const others = group && group.items.length > 1 ? [groupPanel(group, "Its group so far")] : [];
  return {
    parts: [largeItem(question, page), h("div", { class: "naming" }, ...others, form)],
    acts: { "label.save": save, "label.unsure": () => page.give("UNSURE") },
    focus: () => matchMedia("(pointer: fine)").matches && input.focus(), // on a phone it would open the keyboard
  };
}

/** @type {Record<string, (question: Question, page: Parameters<typeof drawGroupQuestion>[1]) => GroupQuestion>} */
const DRAW = { placement, members, groups: twoGroups, label };
