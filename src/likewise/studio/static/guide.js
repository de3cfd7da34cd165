/** The guideline: what "together" means, in the words of the owner, with pictures and examples. */

/** @import {Context, Guide, Unmount} from "./types.js" */
import { fill, h } from "./dom.js";
import { itemCard } from "./item.js";
import { renderMarkdown } from "./markdown.js";
import { useStyle } from "./styles.js";

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @returns {Promise<Unmount>}
 */
export async function mount(root, ctx) {
  await useStyle("setup.css");
  let over = false;
  const draw = async () => {
    try {
      const guide = await ctx.api.get("api/guide");
      if (!over) fill(root, show(ctx, guide));
    } catch (error) {
      if (!over) fill(root, h("section", { class: "view" }, h("h1", null, "Guideline"), h("p", { class: "note bad" }, String(error))));
    }
  };
  await draw();
  ctx.events.addEventListener("settings", draw);
  return () => {
    over = true;
    ctx.events.removeEventListener("settings", draw);
  };
}

/**
 * @param {Context} ctx
 * @param {Guide} guide
 */
function show(ctx, guide) {
  const owner = ctx.me.person.role === "owner";
  const nothing = !guide.criterion && !guide.text && guide.examples.length === 0;
  return h("section", { class: "view guide" }, h("h1", null, "Guideline"),
    guide.criterion && h("p", { class: "criterion", dir: "auto" }, guide.criterion),
    ...renderMarkdown(guide.text, (kind, name, caption) => {
      const item = kind === "item" ? guide.items.find((one) => one.row === Number(name)) : undefined;
      if (item) return h("span", { class: "guide-item" }, itemCard({ ...item, title: caption || item.title }));
      if (kind === "picture" && /^[0-9a-f]{16}$/.test(name)) return h("img", { class: "guide-picture", src: `api/guide/pictures/${name}`, alt: caption, loading: "lazy" });
      return null;
    }),
    guide.examples.length > 0 && h("h2", null, "Examples"),
    ...guide.examples.map((group) => h("section", { class: "guide-group" }, h("h3", { dir: "auto" }, group.name),
      h("div", { class: "gallery" }, ...group.items.map((item) => itemCard(item))))),
    nothing && h("p", { class: "muted" }, owner ? "There is no guideline yet." : "The owner has not written a guideline. If you are in doubt, answer “Unsure”."),
    h("div", { class: "row" }, h("a", { class: "button primary", href: ctx.me.project.study ? "#/study" : "#/question" }, "Go to the questions"),
      owner && h("a", { class: "button", href: "#/setup" }, "Change it")));
}
