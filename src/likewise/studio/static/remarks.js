/** What a person remarks on a question: a note for the owner, and items that cannot be judged. */

/** @import {Context, Item, Question} from "./types.js" */
import { h, openDialog } from "./dom.js";
import { itemCard } from "./item.js";
import { useStyle } from "./styles.js";

/**
 * @param {string} note
 * @param {(note: string) => void} done
 */
export function openNote(note, done) {
  const field = h("textarea", { rows: 4, maxlength: 1000, id: "note-text", dir: "auto", autofocus: true });
  field.value = note;
  const dialog = openDialog("Note", [
    h("form", { class: "note-form", on: { submit: (/** @type {Event} */ event) => {
      event.preventDefault();
      dialog.close();
      done(field.value.trim());
    } } },
    h("label", { for: "note-text" }, "It is stored with your answer to this question, for the owner."), field,
    h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Keep the note"))),
  ]);
  void useStyle("setup.css");
  field.focus();
}

/**
 * The items that an answer would be about; others stand for their groups.
 * @param {Question} question
 * @returns {Item[]}
 */
export function judgedItems({ kind, items }) {
  return kind === "placement" || kind === "label" ? items.slice(0, 1) : kind === "members" ? items.slice(1) : items;
}

/**
 * @param {Context} ctx
 * @param {Question} question
 * @param {(item: Item, note: string) => void} done
 */
export function openBroken(ctx, question, done) {
  const note = h("input", { type: "text", maxlength: 1000, id: "broken-note", dir: "auto" });
  const dialog = openDialog("Broken item", [
    h("p", null, "An item that cannot be judged (empty, unreadable, not what it should be) is no longer asked about. You can undo it."),
    h("div", { class: "gallery broken-choice" }, ...judgedItems(question).map((item, i) => h("div", null, itemCard(item, { onOpen: null }),
      h("button", { type: "button", class: "danger", "aria-label": `${item.title} is broken`, on: { click: () => { dialog.close(); done(item, note.value.trim()); } } },
        question.kind === "pair" || question.kind === "triplet" ? `${"ABC"[i]} is broken` : "Is broken")))),
    h("div", { class: "field" }, h("label", { for: "broken-note" }, "What is wrong? (optional)"), note),
  ]);
  void useStyle("setup.css");
  ctx.announce("Which item is broken?");
}
