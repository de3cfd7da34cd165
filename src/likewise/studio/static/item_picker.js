/** Choose items in a dialog, from the typical members of the groups. */

/** @import {Context, Item} from "./types.js" */
import { fill, h, openDialog } from "./dom.js";
import { itemCard } from "./item.js";

/** @typedef {{number: number, name: string | null, typical: Item[]}} PickedGroup */

const MORE = 24; // members shown at once

/**
 * @param {Context} ctx
 * @param {string} title
 * @param {{many: boolean, done: (items: Item[]) => void}} options
 */
export function openPicker(ctx, title, { many, done }) {
  /** @type {Map<number, Item>} */
  const chosen = new Map();
  const body = h("div", { class: "picker" }, h("p", { class: "muted" }, "One moment…"));
  const use = h("button", { type: "button", class: "primary", disabled: true }, "Use these items");
  const dialog = openDialog(title, [body, many && h("div", { class: "row picker-end" }, use)], { class: "wide" });
  const finish = () => {
    dialog.close();
    done([...chosen.values()]);
  };
  use.addEventListener("click", finish);

  /** @param {Item} item */
  const tile = (item) => {
    const button = h("button", { type: "button", class: "pick", "aria-pressed": "false", "aria-label": item.title }, itemCard(item, { onOpen: null }));
    button.addEventListener("click", () => {
      if (!chosen.delete(item.row)) chosen.set(item.row, item);
      button.setAttribute("aria-pressed", String(chosen.has(item.row)));
      use.disabled = chosen.size === 0;
      if (!many) finish();
    });
    return button;
  };
  ctx.api.get("api/groups").then(
    (/** @type {{groups: PickedGroup[]}} */ { groups }) => fill(body, ...(groups.length === 0 ? [h("p", null, "There are no groups yet. They appear within seconds of the start.")] : groups.map((group) => {
      const gallery = h("div", { class: "gallery" }, ...group.typical.map(tile));
      const known = new Set(group.typical.map((item) => item.row));
      let offset = 0;
      const more = h("button", { type: "button", class: "quiet" }, "More of this group");
      more.addEventListener("click", async () => {
        try {
          /** @type {{items: Item[], total: number}} */
          const page = await ctx.api.get(`api/groups/${group.number}/items`, { offset, limit: MORE });
          offset += page.items.length;
          gallery.append(...page.items.filter((item) => !known.has(item.row)).map(tile));
          more.hidden = offset >= page.total;
        } catch (error) {
          ctx.toast(String(error), "bad");
        }
      });
      return h("section", null, h("h3", { dir: "auto" }, group.name ?? `Group ${group.number + 1}`), gallery, more);
    }))),
    (error) => fill(body, h("p", { class: "note bad" }, String(error))));
}
