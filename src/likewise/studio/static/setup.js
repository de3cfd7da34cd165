/** Setup, for the owner: what is asked and in which words, how it is asked, and items that cannot be judged. */

/** @import {Context, Item, SetupState, Unmount} from "./types.js" */
import { count, fill, h } from "./dom.js";
import { itemCard } from "./item.js";
import { openPicker } from "./item_picker.js";
import { useStyle } from "./styles.js";

const KINDS = /** @type {const} */ ([["pair", "Two items"], ["triplet", "Three items"], ["placement", "An item and groups"], ["members", "Members of a group"], ["groups", "Two groups"], ["label", "Name of a group"]]);
const ASK = [["default", "Automatic"], ["pairs", "Two items"], ["triplets", "Three items"], ["both", "Two and three items"], ["groups", "Groups"]];
const SEEN = [["auto", "Automatic: not if several people get each question"], ["no", "Yes"], ["yes", "No: they answer independently"]];

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @returns {Promise<Unmount>}
 */
export async function mount(root, ctx) {
  await useStyle("setup.css");
  /** @type {SetupState} */
  const setup = await ctx.api.get("api/setup");
  const stopped = new AbortController();
  fill(root, h("section", { class: "view setup" }, h("h1", null, "Setup"), form(ctx, setup), !setup.study && brokenItems(ctx, stopped.signal)));
  return () => stopped.abort();
}

/**
 * @param {string} label
 * @param {string} id
 * @param {HTMLElement} field
 * @param {string} [hint]
 */
function labelled(label, id, field, hint) {
  field.id = id;
  if (hint) field.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, label), field, hint && h("p", { class: "muted small", id: `${id}-hint` }, hint));
}

/**
 * @param {string[][]} choices
 * @param {string} value
 */
function select(choices, value) {
  return h("select", null, ...choices.map(([name, label]) => h("option", { value: name, selected: name === value }, label ?? "")));
}

/**
 * Read a number of groups, or a range such as "50 to 100".
 * @param {string} text
 * @returns {number | [number, number] | null | undefined} null if it is empty, undefined if it is neither
 */
function readClusters(text) {
  if (text.trim() === "") return null;
  const found = /^\s*(\d{1,9})(?:\s*(?:to|:|-|–|—|…|\.\.)\s*(\d{1,9}))?\s*$/i.exec(text);
  if (!found) return undefined;
  return found[2] === undefined ? Number(found[1]) : [Number(found[1]), Number(found[2])];
}

/**
 * @param {Context} ctx
 * @param {SetupState} setup
 */
function form(ctx, setup) {
  const title = h("input", { type: "text", maxlength: 100, required: true, dir: "auto", value: setup.title });
  const criterion = h("input", { type: "text", maxlength: 300, dir: "auto", value: setup.criterion, placeholder: "the same species, whatever the recorder" });
  const guideline = h("textarea", { rows: 12, maxlength: 20000, dir: "auto", spellcheck: "true" });
  guideline.value = setup.guideline;
  const texts = Object.fromEntries(KINDS.map(([kind]) => [kind, h("input", { type: "text", maxlength: 200, dir: "auto", value: setup.questions[kind] ?? "", placeholder: setup.defaults[kind] })]));
  const clusters = h("input", { type: "text", maxlength: 40, autocomplete: "off", value: Array.isArray(setup.n_clusters) ? setup.n_clusters.join(" to ") : setup.n_clusters ?? "" });
  const discover = h("input", { type: "checkbox", checked: setup.discover });
  const ask = select(ASK, setup.ask);
  const overlap = h("input", { type: "number", min: 1, max: 20, step: 1, required: true, inputmode: "numeric", value: setup.overlap });
  const budget = h("input", { type: "number", min: 0, step: 1, inputmode: "numeric", value: setup.budget ?? "" });
  const independent = select(SEEN, setup.independent === null ? "auto" : setup.independent ? "yes" : "no");
  const examples = exampleEditor(ctx, setup.examples);
  const status = h("p", { role: "status", class: "setup-status" });
  const save = h("button", { type: "submit", class: "primary" }, "Save");
  const unknown = () => {
    const given = readClusters(clusters.value);
    discover.disabled = given === null || Array.isArray(given);
    if (discover.disabled) discover.checked = given === null;
  };
  clusters.addEventListener("input", unknown);
  unknown();

  /** @param {SubmitEvent} event */
  const send = async (event) => {
    event.preventDefault();
    fill(status);
    const wanted = readClusters(clusters.value);
    if (wanted === undefined) {
      fill(status, h("span", { class: "note bad" }, `Not saved: The number of groups is “${clusters.value}”; expected a number such as 8, or a range such as 50 to 100. Leave it empty if it is unknown.`));
      clusters.focus();
      return;
    }
    save.disabled = true;
    try {
      await ctx.api.post("api/setup", {
        title: title.value,
        criterion: criterion.value,
        guideline: guideline.value,
        examples: examples.value(),
        ...(setup.study ? {} : {
          questions: Object.fromEntries(KINDS.map(([kind]) => [kind, texts[kind]?.value ?? ""])),
          n_clusters: wanted,
          discover: discover.checked,
          ask: ask.value,
          overlap: Number(overlap.value),
          budget: budget.value === "" ? null : Number(budget.value),
          independent: independent.value === "auto" ? null : independent.value === "yes",
        }),
      });
      fill(status, h("span", { class: "note good" }, "Saved. Open pages show it at once."));
    } catch (error) {
      fill(status, h("span", { class: "note bad" }, `Not saved: ${String(error)}`));
    } finally {
      save.disabled = false;
    }
  };

  return h("form", { class: "setup-form", on: { submit: send } },
    h("fieldset", null, h("legend", null, "What is asked"),
      labelled("Title", "setup-title", title),
      labelled("What “together” means", "setup-criterion", criterion, "One sentence. It is shown above every question."),
      labelled("Guideline", "setup-guideline", guideline, "Start a line with # for a heading or - for a list; **bold**, *italic*. Pictures are inserted where the cursor is."),
      insertButtons(ctx, guideline),
      !setup.study && h("details", { class: "setup-texts" }, h("summary", null, "Words of the questions"),
        ...KINDS.map(([kind, label]) => labelled(label, `setup-text-${kind}`, /** @type {HTMLInputElement} */ (texts[kind]))))),
    h("fieldset", null, h("legend", null, "Examples"),
      h("p", { class: "muted" }, "Items that you choose are shown in the guideline, in the reference book instead of typical members, and first in questions about the group."), examples.element),
    setup.study ? h("p", { class: "muted" }, "The questions of a study cannot be changed.") : h("fieldset", null, h("legend", null, "How it is asked"),
      labelled("Number of groups", "setup-clusters", clusters, "One number, or a range such as 50 to 100. Empty if it is unknown."),
      h("label", { class: "check" }, discover, "Answers may open more groups"),
      labelled("Questions about", "setup-ask", ask),
      labelled("People who get each question", "setup-overlap", overlap),
      labelled("Maximum number of answers", "setup-budget", budget, "Of all people together. Empty for no limit."),
      labelled("Annotators see the groups and why a question is asked", "setup-independent", independent)),
    h("div", { class: "row setup-save" }, save, h("a", { class: "button", href: "#/guide" }, "See the guideline"), status));
}

/**
 * @param {Context} ctx
 * @param {HTMLTextAreaElement} guideline
 */
function insertButtons(ctx, guideline) {
  /** @param {string} text */
  const insert = (text) => {
    const before = guideline.value.slice(0, guideline.selectionStart);
    guideline.setRangeText(/\S$/.test(before) ? ` ${text}` : text, guideline.selectionStart, guideline.selectionEnd, "end");
    guideline.focus();
  };
  const file = h("input", { type: "file", accept: "image/*", class: "sr", tabindex: "-1", "aria-label": "Picture for the guideline" });
  file.addEventListener("change", async () => {
    const [chosen] = file.files ?? [];
    if (!chosen) return;
    try {
      const { picture } = await ctx.api.upload("api/setup/pictures", chosen);
      insert(`![${plain(chosen.name.replace(/\.[^.]*$/, ""))}](picture:${picture})`);
    } catch (error) {
      ctx.toast(String(error), "bad");
    }
    file.value = "";
  });
  return h("div", { class: "row" }, file,
    h("button", { type: "button", on: { click: () => file.click() } }, "Upload a picture…"),
    h("button", { type: "button", on: { click: () => openPicker(ctx, "Choose an item", { many: false, done: ([item]) => item && insert(`![${plain(item.title)}](item:${item.row})`) }) } }, "Insert an item…"));
}

/** @param {string} text a caption, without what would end it */
function plain(text) {
  return text.replace(/[\][\n]/g, " ").slice(0, 80);
}

/**
 * @param {Context} ctx
 * @param {{name: string, items: Item[]}[]} given
 */
function exampleEditor(ctx, given) {
  const groups = given.map((group) => ({ name: group.name, items: [...group.items] }));
  const list = h("div", { class: "example-groups" });
  const draw = () => fill(list, ...groups.map((group, i) => {
    const name = h("input", { type: "text", maxlength: 100, required: true, dir: "auto", value: group.name, on: { input: (event) => { group.name = event.target.value; } } });
    return h("section", { class: "card example-group", "aria-label": group.name || `Group ${i + 1}` },
      h("div", { class: "row" }, labelled("Name of the group", `setup-example-${i}`, name),
        h("button", { type: "button", on: { click: () => openPicker(ctx, "Choose examples", { many: true, done: (items) => {
          const known = new Set(group.items.map((item) => item.row));
          group.items.push(...items.filter((item) => !known.has(item.row)));
          draw();
        } }) } }, "Add items…"),
        h("button", { type: "button", class: "danger", on: { click: () => { groups.splice(i, 1); draw(); } } }, "Remove the group")),
      h("div", { class: "gallery" }, ...group.items.map((item, at) => h("div", { class: "example-item" }, itemCard(item),
        h("button", { type: "button", class: "quiet small", "aria-label": `Remove ${item.title}`, on: { click: () => { group.items.splice(at, 1); draw(); } } }, "Remove")))));
  }));
  draw();
  const add = h("button", { type: "button", on: { click: () => {
    groups.push({ name: "", items: [] });
    draw();
    /** @type {HTMLElement | null} */ (list.querySelector(".example-group:last-child input"))?.focus();
  } } }, "Add a group");
  return {
    element: h("div", null, list, add),
    value: () => groups.filter((group) => group.items.length > 0).map((group) => ({ name: group.name, rows: group.items.map((item) => item.row) })),
  };
}

/**
 * The items that people have reported, each with a button that puts it back.
 * @param {Context} ctx
 * @param {AbortSignal} signal
 */
function brokenItems(ctx, signal) {
  const list = h("div", null);
  const update = async () => {
    try {
      /** @type {{items: {seq: number, item: Item, person: string, time: string, note: string | null}[]}} */
      const { items } = await ctx.api.get("api/broken");
      if (signal.aborted) return;
      fill(list, h("p", { class: "muted" }, items.length === 0 ? "None has been reported." : `${count(items.length, "item is", "items are")} no longer asked about.`),
        h("ul", { class: "plain" }, ...items.map((one) => h("li", { class: "card broken-item" }, h("div", { class: "past-item" }, itemCard(one.item)),
          h("div", null, h("strong", { dir: "auto" }, one.item.title), h("br"), h("span", { class: "muted small" }, h("span", { dir: "auto" }, one.person), " · ", new Date(one.time).toLocaleString()),
            one.note && h("p", { dir: "auto" }, `“${one.note}”`)),
          h("button", { type: "button", "aria-label": `Ask about ${one.item.title} again`, on: { click: () => {
            ctx.outbox.post("api/undo", { key: ctx.api.key(), of: one.seq }).then(() => { ctx.toast("It is asked about again.", "good"); void update(); }, (error) => ctx.toast(String(error), "bad"));
          } } }, "Ask about it again")))));
    } catch (error) {
      if (!signal.aborted) fill(list, h("p", { class: "note bad" }, String(error)));
    }
  };
  ctx.events.addEventListener("ready", update, { signal });
  void update();
  return h("section", { class: "people-part", "aria-label": "Broken items" }, h("h2", null, "Broken items"), list);
}
