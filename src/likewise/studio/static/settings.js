/** Personal preferences (theme, marks, keys), stored on this machine; and the help. */

/** @import {Context} from "./types.js" */
import { fill, h, openDialog } from "./dom.js";
import { openIntroduction } from "./intro.js";
import { ACTIONS, keyName } from "./keys.js";

const STORED = "likewise preferences";

/** @type {{theme: "auto" | "light" | "dark", marks: boolean}} */
export const preferences = { theme: "auto", marks: true };

try {
  const kept = JSON.parse(localStorage.getItem(STORED) ?? "{}");
  if (["auto", "light", "dark"].includes(kept.theme)) preferences.theme = kept.theme;
  if (typeof kept.marks === "boolean") preferences.marks = kept.marks;
} catch {
  // use the defaults
}

/** Apply the theme to the page. */
export function applyTheme() {
  if (preferences.theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = preferences.theme;
}

/**
 * @param {Context} ctx
 * @param {Partial<typeof preferences>} wanted
 */
export function prefer(ctx, wanted) {
  Object.assign(preferences, wanted);
  try {
    localStorage.setItem(STORED, JSON.stringify(preferences));
  } catch {
    // applies until the page is closed
  }
  applyTheme();
  ctx.events.dispatchEvent(new CustomEvent("theme" in wanted ? "theme" : "preferences"));
}

/** @param {Context} ctx */
export function openSettings(ctx) {
  const themes = /** @type {const} */ ([["auto", "System"], ["light", "Light"], ["dark", "Dark"]]);
  const status = h("p", { class: "small", role: "status" });
  const keys = h("div", { class: "keys" });
  openDialog("Settings", [
    h("fieldset", null, h("legend", null, "Appearance"),
      h("div", { class: "row" }, ...themes.map(([value, label]) => h("label", { class: "check" },
        h("input", { type: "radio", name: "theme", value, checked: preferences.theme === value, on: { change: () => prefer(ctx, { theme: value }) } }), label))),
      h("label", { class: "check" },
        h("input", { type: "checkbox", checked: preferences.marks, on: { change: (event) => prefer(ctx, { marks: event.target.checked }) } }),
        "Highlight differences between texts and rows")),
    h("fieldset", null, h("legend", null, "Keys"),
      h("label", { class: "check" },
        h("input", { type: "checkbox", checked: ctx.keys.enabled, on: { change: (event) => ctx.keys.enable(event.target.checked) } }),
        "Use single keys for answers and actions"),
      h("p", { class: "muted small" }, "Press a button below, then the new key. Esc cancels."),
      keys, status,
      h("button", { type: "button", on: { click: () => { ctx.keys.reset(); draw(); status.textContent = "The default keys were restored."; } } }, "Restore default keys")),
  ]);

  const draw = () => fill(keys, ...ACTIONS.map((action) => {
    const label = action.group === "any" ? action.label : `${action.label} (${action.group})`;
    const button = h("button", { type: "button", "aria-label": `Key for ${label}: ${ctx.keys.of(action.name).map(keyName).join(" or ") || "none"}` },
      ...ctx.keys.of(action.name).map((key) => h("kbd", null, keyName(key))), ctx.keys.of(action.name).length === 0 && "none");
    button.addEventListener("click", () => {
      fill(button, "press a key…");
      /** @param {KeyboardEvent} event */
      const heard = (event) => {
        if (["Shift", "Control", "Alt", "Meta", "CapsLock", "Tab"].includes(event.key)) return;
        event.preventDefault();
        event.stopPropagation();
        leave();
        if (event.key !== "Escape") {
          const lost = ctx.keys.bind(action.name, event.key);
          status.textContent = `${label} is now ${keyName(event.key)}.${lost ? ` “${lost}” no longer uses it.` : ""}`;
        }
        draw();
        /** @type {HTMLElement | null} */ (keys.querySelector(`[data-name="${action.name}"]`))?.focus();
      };
      const leave = () => {
        document.removeEventListener("keydown", heard, true);
        button.removeEventListener("blur", left);
      };
      const left = () => { leave(); draw(); };
      document.addEventListener("keydown", heard, true);
      button.addEventListener("blur", left);
    });
    button.dataset["name"] = action.name;
    return h("div", { class: "binding" }, h("span", null, label), button);
  }));
  draw();
}

/** @param {Context} ctx */
export function openHelp(ctx) {
  const { ask, has_guide, kind, study } = ctx.me.project;
  /** @param {string} name of an action */
  const useful = (name) => !(name.startsWith("play.") && kind !== "sound") && !(study && (name.endsWith("unsure") || ["skip", "undo", "note", "broken"].includes(name)));
  /**
   * @param {string} title
   * @param {string} group
   */
  const list = (title, group) => h("section", null, h("h3", null, title),
    h("dl", { class: "keylist" }, ...ACTIONS.filter((action) => action.group === group && useful(action.name)).map((action) => h("div", null,
      h("dt", null, action.label),
      h("dd", null, ...ctx.keys.of(action.name).map((key) => h("kbd", null, keyName(key))), ctx.keys.of(action.name).length === 0 && "no key")))));
  const dialog = openDialog("Help", [
    !study && h("div", { class: "row help-first" },
      h("button", { type: "button", on: { click: () => { dialog.close(); void openIntroduction(ctx); } } }, "Show the introduction"),
      has_guide && h("a", { class: "button", href: "#/guide", on: { click: () => dialog.close() } }, "Read the guideline")),
    h("p", null, study ? "Decide which items belong to the same class. Each answer is saved at once and cannot be undone. If you are in doubt, choose the more likely answer."
      : "Decide whether items belong together. Each answer is saved at once, and the groups are based on all answers. "
      + "“Unsure” is a good answer too: it is better than a guess. You can skip a question and return to it from the history."),
    !ctx.keys.enabled && h("p", { class: "note warn" }, "Single keys are turned off in the settings."),
    h("div", { class: "helps" },
      (study || ask !== "triplets") && list(ask === "groups" ? "Two groups" : "Two items", "pair"),
      (study || ask === "triplets" || ask === "both") && list("Three items", "triplet"),
      !study && (ask === "groups" || ask === "default") && [list("Which group?", "placement"), list("Members of a group", "members")],
      list("All questions", "any"),
      !study && list("Groups and map", "repair")),
    h("p", { class: "muted small" }, "The badge at the top shows whether everything is saved. You can go on without a connection: "
      + "answers are stored on this machine and sent later. You can change the keys under Settings."),
  ], { class: "wide" });
}
