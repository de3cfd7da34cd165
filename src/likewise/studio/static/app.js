/**
 * The main page: login state, menu, views, and what the views share.
 *
 * A VIEW is a module with
 *
 *     export function mount(root, ctx) { …; return () => { undo everything }; }     (or a promise of that function)
 *
 * `root` is an empty <div> inside <main>. The view fills it and need not empty it, but the function it returns must
 * remove listeners added elsewhere (ctx.events, window, ctx.keys) and stop timers. The first element of a view should
 * be an <h1> (class "sr" to hide it visually). Views are imported when first opened, and load their own style sheets
 * with useStyle of styles.js.
 *
 * `ctx` (type Context in types.js):
 *   api       api.get("api/groups", {limit: 3}) → JSON;  api.post("api/undo", {key: api.key(), of: 7}) → JSON;
 *             api.binary("api/map/labels", {etag}) → {status, buffer, headers} (status 304: buffer is empty);
 *             api.url("api/items/3/thumb") → full address. All throw ApiError {status, code, message, wayOn}
 *             (status 0: no connection). `String(error)` is a sentence for people.
 *   me        {person: {id, name, role}, project: {title, kind, n_items, ask, …, study}, version}
 *   events    EventTarget; CustomEvents with .detail as the server sent it: "progress", "picture", "descriptions",
 *             "layout", "ready", "trouble", "settings" (`me` is up to date); and from the page: "lost" and "found"
 *             (connection), "theme" (light/dark changed)
 *   outbox    outbox.post(path, body) → promise of the JSON, for requests that must not get lost: kept on this machine
 *             until the server has them. Used for answers, skips, undos and hints, each with a `key: api.key()`.
 *   keys      keys.use({name: action, …}) → function that removes it; see keys.js
 *   announce  announce("Saved") for screen readers (polite live region)
 *   go        go("map") opens #/map; go("groups/3") opens view "groups", which reads the rest of location.hash itself and
 *             listens to "hashchange" if the rest may change: an open view is not mounted again
 *   toast     toast("Group renamed", "good" | "bad" | "info") shows a short message, and announces it
 *   showReference()   opens the reference book
 *
 * Routes: #/question #/groups #/map #/conflicts #/history #/guide #/setup #/people #/study. Helpers: dom.js (h, s, fill, openDialog,
 * colour), item.js (`itemCard(item)` small card with thumbnail, `itemFigure(item, …)` full size, `zoom(item)`).
 */

/** @import {Context, Me, Unmount} from "./types.js" */
import { Api, ApiError } from "./api.js";
import { scopeOf } from "./asking.js";
import { fill, h, openDialog, put } from "./dom.js";
import { glyph, orderCards, useProfile } from "./item.js";
import { Keys } from "./keys.js";
import { listen } from "./live.js";
import { Outbox } from "./outbox.js";
import { openReference } from "./reference.js";
import { introduce } from "./intro.js";
import { applyTheme, openHelp, openSettings } from "./settings.js";
import { WORDS } from "./history.js";

/** @typedef {{mount: (root: HTMLElement, ctx: Context) => Unmount | Promise<Unmount>}} View */

/** @type {Record<string, {title: string, load: () => Promise<View>, owner?: boolean, study?: boolean, groups?: boolean}>} */
const VIEWS = {
  study: { title: "Study", load: () => import("./study.js"), study: true },
  question: { title: "Question", load: () => import("./question.js") },
  groups: { title: "Groups", load: () => import("./groups.js"), groups: true },
  map: { title: "Map", load: () => import("./map.js"), groups: true },
  conflicts: { title: "Conflicts", load: () => import("./conflicts.js"), groups: true },
  history: { title: "History", load: () => import("./history.js") },
  guide: { title: "Guideline", load: () => import("./guide.js") },
  setup: { title: "Setup", load: () => import("./setup.js"), owner: true },
  people: { title: "People", load: () => import("./people.js"), owner: true },
};

/** @param {string} id */
const the = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Whether a view is on this person's menu. In a study, annotators see only the study and the guideline.
 * @param {string} name
 * @param {Me} me
 */
function offered(name, me) {
  const view = VIEWS[name];
  if (!view) return false;
  if (view.study) return me.project.study;
  if (name === "guide") return me.project.has_guide || me.project.criterion !== "" || me.person.role === "owner";
  if (me.project.study && me.person.role !== "owner") return false;
  if (view.groups && !me.project.shows_groups) return false;
  return !view.owner || me.person.role === "owner";
}

function route() {
  return location.hash.replace(/^#\//, "").split("/")[0] ?? "";
}

/** @param {string} text */
function announce(text) {
  the("live").textContent = "";
  // Emptying and filling in one step would not be read out if the same text comes twice.
  requestAnimationFrame(() => {
    the("live").textContent = text;
  });
}

/** @type {Context["toast"]} */
function toast(text, kind = "info") {
  const shown = h("div", { class: `toast ${kind}` }, text);
  the("toasts").appendChild(shown);
  while (the("toasts").childElementCount > 3) the("toasts").firstElementChild?.remove();
  setTimeout(() => shown.remove(), kind === "bad" ? 9000 : 3500);
}

/** @param {Context} ctx */
function drawTop(ctx) {
  const { me } = ctx;
  const links = Object.entries(VIEWS).filter(([name]) => offered(name, me)).map(([name, view]) => h("li", null, h("a", { href: `#/${name}`, "data-view": name }, view.title)));
  fill(the("top"),
    h("a", { class: "brand", href: "#/", title: me.project.title }, h("img", { src: "static/icon.svg", alt: "" }), h("span", { dir: "auto" }, me.project.title)),
    h("nav", { "aria-label": "Views" }, h("ul", null, ...links)),
    h("div", { class: "side" }, badge(ctx),
      h("button", { type: "button", class: "quiet icon also", "aria-label": "Reference book", title: "Reference book", on: { click: () => ctx.showReference() } }, glyph("M4 5a2 2 0 0 1 2-2h14v16H6a2 2 0 0 0-2 2zM20 19v2H6")),
      h("button", { type: "button", class: "quiet icon", "aria-label": "Settings", title: "Settings", on: { click: () => openSettings(ctx) } }, glyph("M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4")),
      h("button", { type: "button", class: "quiet icon", "aria-label": "Help", title: "Help", on: { click: () => openHelp(ctx) } }, glyph("M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 18h.01")),
      h("button", { type: "button", class: "quiet icon", "aria-label": `Log out, ${me.person.name}`, title: `Log out (${me.person.name})`, on: { click: () => void logout(ctx) } }, glyph("M14 4h5v16h-5M4 12h11M11 8l4 4-4 4"))));
}

/** @param {Context} ctx */
async function logout(ctx) {
  const waiting = ctx.outbox.waiting.length;
  if (waiting > 0 && !window.confirm(`${waiting} answers are not saved yet. They stay on this machine until you log in again. Log out?`)) return;
  try {
    await ctx.api.post("api/logout");
    location.reload();
  } catch (error) {
    toast(String(error), "bad");
  }
}

/**
 * Whether everything is saved; a click shows details if it is not.
 * @param {Context} ctx
 */
function badge(ctx) {
  const { outbox } = ctx;
  const words = h("span");
  const shown = h("button", { type: "button", class: "badge", id: "saved", on: { click: () => showOutbox(ctx) } }, words);
  const heard = h("span", { class: "sr", role: "status" });
  let count = 0;
  const draw = () => {
    const { waiting, refused } = outbox;
    const stuck = outbox.trouble !== "" && waiting.length > 0;
    const state = refused.length > 0 ? "refused" : stuck ? "stuck" : waiting.length > 0 ? "saving" : "saved";
    words.textContent = { refused: `${refused.length} refused`, stuck: `${waiting.length} not saved yet`, saving: "saving…", saved: "saved" }[state];
    shown.className = `badge ${{ refused: "bad", stuck: "warn", saving: "", saved: "good" }[state]}`;
    shown.dataset["state"] = state;
    if (waiting.length === 0 && count > 0 && refused.length === 0) heard.textContent = "Saved";
    else if (stuck) heard.textContent = `${waiting.length} not saved yet`;
    else if (waiting.length > 0) heard.textContent = "";
    count = waiting.length;
  };
  outbox.addEventListener("change", draw);
  draw();
  return h("span", null, shown, heard);
}

/** @param {Context} ctx */
function showOutbox(ctx) {
  const { waiting, refused, trouble } = ctx.outbox;
  /** @param {import("./outbox.js").Entry} entry */
  const what = (entry) => `${entry.path.replace("api/", "")}: ${WORDS[entry.body["answer"]] ?? ""}`;
  const dialog = openDialog("Saving", [
    waiting.length === 0 && refused.length === 0 && h("p", null, "All your answers are saved on the server."),
    waiting.length > 0 && h("p", { class: "note warn" }, trouble === "login" ? `${waiting.length} not saved yet, because you are logged out. They are sent when you open your login link.`
      : `${waiting.length} not saved yet. They are kept on this machine and sent as soon as the server responds.`),
    waiting.length > 0 && h("button", { type: "button", on: { click: () => { ctx.outbox.retry(); dialog.close(); } } }, "Send now"),
    refused.length > 0 && h("h3", null, "Refused by the server"),
    refused.length > 0 && h("ul", { class: "plain" }, ...refused.map((entry) => h("li", { class: "card row spread" },
      h("span", null, h("strong", null, what(entry)), h("br"), h("span", { class: "small", dir: "auto" }, entry.refused)),
      h("span", { class: "row" },
        h("button", { type: "button", on: { click: () => { void ctx.outbox.settle(entry, "again"); dialog.close(); } } }, "Try again"),
        h("button", { type: "button", class: "danger", on: { click: () => { void ctx.outbox.settle(entry, "forget"); dialog.close(); } } }, "Discard"))))),
  ]);
}

/**
 * A banner across the page while there is a problem.
 * @param {string} text
 * @param {Context | null} ctx
 */
function banner(text, ctx) {
  document.querySelector(".banner")?.remove();
  if (!text) return;
  const shown = h("div", { class: "banner", role: "alert" }, text, " ",
    ctx && h("button", { type: "button", on: { click: () => { ctx.outbox.retry(); ctx.api.get("api/me").then(() => banner("", ctx), () => {}); } } }, "Try again"));
  the("top").after(shown);
}

/** @param {Context} ctx */
function router(ctx) {
  /** @type {Unmount | null} */
  let leave = null;
  let turn = 0;
  let opened = "";
  const open = async () => {
    const first = ctx.me.project.study ? "study" : "question";
    const name = offered(route(), ctx.me) ? route() : first;
    const view = VIEWS[name];
    if (route() && route() !== name) history.replaceState(null, "", `#/${name}`); // not for this person
    if (!view || (name === opened && leave)) return; // the view handles the rest of the hash
    const mine = ++turn;
    opened = name;
    leave?.();
    leave = null;
    orderCards([]); // not in the order of the page before
    for (const link of document.querySelectorAll(".top nav a")) {
      if (/** @type {HTMLElement} */ (link).dataset["view"] === name) {
        link.setAttribute("aria-current", "page");
        link.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else link.removeAttribute("aria-current");
    }
    document.title = `${view.title} · ${ctx.me.project.title} · likewise`;
    const root = h("div", { class: "root" });
    fill(the("main"), root);
    try {
      const module = await view.load();
      if (mine !== turn) return;
      const end = await module.mount(root, ctx);
      if (mine === turn) leave = end;
      else end();
    } catch (error) {
      if (mine !== turn) return;
      console.error(error);
      const why = error instanceof ApiError ? String(error) : "This part of the page could not be loaded. Is the server still running?";
      fill(root, h("section", { class: "view" }, h("h1", null, view.title), h("p", { class: "note bad" }, why),
        h("div", { class: "row" }, h("button", { type: "button", on: { click: () => void open() } }, "Try again"))));
    }
  };
  window.addEventListener("hashchange", () => {
    for (const dialog of document.querySelectorAll("dialog")) dialog.close(); // it was opened on the page before
    void open().then(() => the("main").focus({ preventScroll: true }));
    window.scrollTo(0, 0);
  });
  void open();
}

async function main() {
  applyTheme();
  the("skip-link").addEventListener("click", (event) => {
    event.preventDefault(); // the hash is used for routes
    the("main").focus();
  });
  const api = new Api();
  const me = await hello(api);
  try {
    useProfile(await api.get("api/profile"));
  } catch (error) {
    console.error(error); // items are shown without it, too
  }
  const events = new EventTarget();
  const keys = new Keys();
  const outbox = new Outbox(api, scopeOf({ me }));
  /** @type {Context} */
  const ctx = {
    api, me, events, outbox, keys, announce, toast,
    go: (to) => { location.hash = `#/${to}`; },
    showReference: () => openReference(ctx),
  };
  drawTop(ctx);
  keys.use({ help: () => openHelp(ctx), reference: () => openReference(ctx) });
  api.addEventListener("lost", () => {
    banner("The server does not respond. You can go on with the questions loaded so far; answers are kept on this machine.", ctx);
    events.dispatchEvent(new CustomEvent("lost"));
  });
  api.addEventListener("found", () => {
    banner("", ctx);
    outbox.retry();
    events.dispatchEvent(new CustomEvent("found"));
  });
  api.addEventListener("login", (event) => banner(`${String(/** @type {CustomEvent} */ (event).detail)} Unsaved answers are kept on this machine.`, ctx));
  events.addEventListener("trouble", (event) => toast(/** @type {CustomEvent<{text: string}>} */ (event).detail.text, "bad"));
  listen(api, events, { settings: () => useSettings(ctx), items: () => refreshMe(ctx) });
  router(ctx);
  void introduce(ctx);
}

/**
 * Bring `me` up to date, which has the number of items; the next request says what is wrong.
 * @param {Context} ctx
 */
async function refreshMe(ctx) {
  try {
    Object.assign(ctx.me, await ctx.api.get("api/me"));
  } catch { /* as it was */ }
}

/**
 * Show the menu and the title as the owner has changed them; views hear of it afterwards.
 * @param {Context} ctx
 */
async function useSettings(ctx) {
  await refreshMe(ctx);
  const open = document.querySelector('.top nav a[aria-current="page"]')?.getAttribute("data-view");
  drawTop(ctx);
  document.querySelector(`.top nav a[data-view="${open}"]`)?.setAttribute("aria-current", "page");
  if (open && !offered(open, ctx.me)) ctx.go(ctx.me.project.study ? "study" : "question");
}

/**
 * Who is logged in. Waits for a server that is still starting, and shows how to log in.
 * @param {Api} api
 * @returns {Promise<Me>}
 */
async function hello(api) {
  for (;;) {
    try {
      return await api.get("api/me");
    } catch (error) {
      const login = error instanceof ApiError && (error.status === 401 || error.status === 403);
      const out = error instanceof ApiError && error.code === "locked_out";
      const again = h("button", { type: "button", class: "primary" }, "Try again");
      fill(the("main"), h("div", { class: "view" }, h("div", { class: "empty" },
        h("h1", null, out ? "You are locked out" : login ? "Please log in" : "The server does not respond"),
        h("p", null, out ? String(error) : login ? "Open the login link that “likewise studio” printed when it started, or ask the owner of the project for a new one. A link works once."
          : String(error)),
        h("div", { class: "row" }, again))));
      await new Promise((resolve) => {
        again.addEventListener("click", () => resolve(undefined));
        if (!login) setTimeout(resolve, 3000);
      });
    }
  }
}

main().catch((error) => {
  console.error(error);
  put(the("main"), h("p", { class: "note bad" }, "The page could not start: ", String(error)));
});
