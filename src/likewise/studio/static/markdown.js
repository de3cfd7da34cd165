/**
 * A text with simple marks as elements: headings, paragraphs, lists, bold, italic and pictures. Everything else is
 * shown as it is; nothing is ever parsed as HTML, and addresses outside of the studio are not followed.
 */

import { h } from "./dom.js";

/** @typedef {(kind: "item" | "picture", name: string, caption: string) => Node | null} DrawPicture */

const INLINE = /!\[([^\]\n]*)\]\((item|picture):([^)\n]*)\)|\*\*([^*\n]+)\*\*|\*([^*\n]+)\*/g;

/**
 * @param {string} text
 * @param {DrawPicture} draw  returns null if there is no such picture
 * @returns {HTMLElement[]}
 */
export function renderMarkdown(text, draw) {
  /** @type {HTMLElement[]} */
  const found = [];
  for (const block of text.split(/\n\s*\n/)) {
    /** @type {string[]} */
    let lines = [];
    /** @type {{tag: "ul" | "ol", entries: string[]} | null} */
    let list = null;
    const end = () => {
      if (lines.length > 0) found.push(h("p", { dir: "auto" }, ...inline(lines.join("\n"), draw)));
      if (list) found.push(h(list.tag, null, ...list.entries.map((entry) => h("li", { dir: "auto" }, ...inline(entry, draw)))));
      lines = [];
      list = null;
    };
    for (const line of block.split("\n")) {
      const heading = /^(#{1,3})\s+(.*)$/.exec(line);
      const bullet = /^\s*(?:([-*])|\d{1,3}[.)])\s+(.*)$/.exec(line);
      if (heading) {
        end();
        found.push(h(heading[1]?.length === 1 ? "h2" : "h3", { dir: "auto" }, ...inline(heading[2] ?? "", draw)));
      } else if (bullet) {
        const tag = bullet[1] ? "ul" : "ol";
        if (lines.length > 0 || (list && list.tag !== tag)) end();
        list ??= { tag, entries: [] };
        list.entries.push(bullet[2] ?? "");
      } else if (line.trim()) {
        if (list) end();
        lines.push(line);
      }
    }
    end();
  }
  return found;
}

/**
 * @param {string} text
 * @param {DrawPicture} draw
 * @returns {(Node | string)[]}
 */
function inline(text, draw) {
  /** @type {(Node | string)[]} */
  const found = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    found.push(...broken(text.slice(at, match.index)));
    const [whole, caption = "", kind, name = "", bold, italic] = match;
    if (bold !== undefined) found.push(h("strong", null, bold));
    else if (italic !== undefined) found.push(h("em", null, italic));
    else found.push(draw(kind === "item" ? "item" : "picture", name, caption) ?? whole);
    at = match.index + whole.length;
  }
  found.push(...broken(text.slice(at)));
  return found;
}

/**
 * Text with its line breaks.
 * @param {string} text
 */
function broken(text) {
  return text.split("\n").flatMap((line, i) => (i === 0 ? [line] : [h("br"), line])).filter((part) => part !== "");
}
