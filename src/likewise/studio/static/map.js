// The map: all items as points, coloured by group, updated as the groups change.

import { colour, count } from "./dom.js";
import { closeNotice, giveHint, groupName, itemName, latest } from "./hints.js";
import { listColumns } from "./item.js";
import { computed } from "./colors.js";
import { MapColumn } from "./map_columns.js";
import { MapData, NO_GROUP } from "./map_data.js";
import { gestures } from "./map_gestures.js";
import { PointIndex } from "./map_index.js";
import { enclosed } from "./map_lasso.js";
import { groupTable, legend } from "./map_legend.js";
import { buildPage } from "./map_page.js";
import { Painter } from "./map_painter.js";
import { ItemCache, showPanel, showTip } from "./map_pin.js";
import { RepairBar } from "./repair.js";
import { selection } from "./selection.js";
import { useStyle } from "./styles.js";

/** @import {Context, Unmount} from "./types.js" */
/** @import {Group} from "./hints.js" */

const REACH = 14; // pixels around the pointer in which an item is found
const GAP = 7; // minimum distance in pixels of a step by key

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @returns {Promise<Unmount>}
 */
export async function mount(root, ctx) {
  await Promise.all([useStyle("map.css"), useStyle("groups.css"), useStyle("repair.css")]);
  const view = new MapView(root, ctx);
  view.start();
  return () => view.stop();
}

/** The page of the map. */
class MapView {
  /**
   * @param {HTMLElement} root
   * @param {Context} ctx
   */
  constructor(root, ctx) {
    this.began = performance.now();
    this.ctx = ctx;
    this.data = new MapData(ctx);
    this.items = new ItemCache(ctx);
    /** @type {Group[]} */
    this.groups = [];
    /** @type {PointIndex | null} created when first needed */
    this.found = null;
    this.hovered = -1;
    this.pinned = -1;
    this.stopped = new AbortController();
    /** @type {number[]} rows that the search found */
    this.matches = [];
    this.drawing = false;
    this.text = "";
    this.columns = listColumns().filter((column) => column.low !== null || column.levels.length > 1);
    this.page = buildPage(root, ctx.me.project.n_items, this.columns.map((column) => column.name), {
      colourBy: (by, column) => void this.#colourBy(by, column),
      names: (shown) => {
        this.painter.names.element.hidden = !shown;
        this.painter.over();
      },
      lasso: (on) => {
        this.drawing = on;
        this.page.overlay.classList.toggle("drawing", on);
        ctx.announce(on ? "Lasso on: draw around items, or tap them." : "Lasso off.");
      },
      search: (text) => {
        this.text = text.trim();
        void this.research();
      },
      selectFound: () => this.#select(this.matches, true),
      lines: (shown) => void this.#showLines(shown),
      zoom: (factor) => {
        this.camera.zoomBy(factor);
        this.#moved();
      },
      whole: () => {
        this.camera.reset();
        this.#moved();
      },
    });
    this.painter = new Painter(this.page, this.data);
    this.camera = this.painter.camera;
    this.page.stage.append(this.painter.names.element);
    this.bar = new RepairBar(ctx, () => this.groups, this.stopped.signal);
    this.page.bars.append(this.bar.element);
    this.research = latest(() => this.#search());
    this.refresh = latest(() => this.#picture());
    this.relayout = latest(() => this.#layout());
  }

  /** Add listeners and load everything. */
  start() {
    const { signal } = this.stopped;
    const { events } = this.ctx;
    gestures(this.page.overlay, this.camera, {
      moved: () => this.#moved(),
      hover: (x, y) => void this.#point(this.#at(x, y), false),
      leave: () => void this.#point(-1, false),
      pick: (x, y) => void this.#pin(this.#at(x, y)),
      step: (direction) => this.#step(direction),
      choose: () => void this.#pin(this.hovered, true),
      cancel: () => {
        if (this.pinned >= 0) this.#unpin();
        else selection.clear();
      },
      draws: () => this.drawing,
      lasso: (line, done, add) => this.#lasso(line, done, add),
      select: (x, y) => this.#toggle(this.#at(x, y)),
      selectStep: () => this.#toggle(this.hovered >= 0 ? this.hovered : this.pinned),
    });
    selection.addEventListener("change", () => this.#showSelected(), { signal });
    events.addEventListener("descriptions", () => void this.refresh(), { signal });
    events.addEventListener("picture", () => void this.refresh(), { signal });
    events.addEventListener("found", () => void this.relayout().then(this.refresh), { signal });
    events.addEventListener("layout", () => void this.relayout(), { signal });
    events.addEventListener("theme", () => this.#repaint(), { signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#repaint(), { signal });
    const watch = new ResizeObserver(() => this.painter.resize());
    watch.observe(this.page.stage);
    signal.addEventListener("abort", () => watch.disconnect());
    this.painter.resize();
    void this.relayout().then(this.refresh);
  }

  /** Remove listeners and stop all work. */
  stop() {
    this.stopped.abort();
    this.painter.stop();
    document.body.classList.remove("repairing");
    closeNotice();
  }

  // ------------------------------------------------------------------ data from the server

  async #layout() {
    const first = this.data.n === 0;
    try {
      const [fresh] = await Promise.all([this.data.points(), first ? this.data.groups().catch(() => false) : null]);
      if (this.stopped.signal.aborted || !fresh || this.data.n === 0) return;
      this.data.even();
      this.found = null;
      this.page.wait.hidden = true;
      this.#say();
      this.painter.layout();
      if (first) performance.measure("map-first-paint", { start: this.began });
    } catch (error) {
      this.#trouble(error);
    }
  }

  async #picture() {
    try {
      const [, , got] = await Promise.all([
        this.data.groups(),
        this.painter.by === "doubt" || this.pinned >= 0 ? this.data.doubts() : null,
        this.ctx.api.get("api/groups"),
        this.painter.lines ? this.data.pairs() : null,
      ]);
      if (this.stopped.signal.aborted) return;
      this.groups = got.groups;
      this.painter.groups = new Map(this.groups.map((group) => [group.number, group]));
      if (this.painter.alone !== null && !this.painter.groups.has(this.painter.alone)) this.painter.alone = null;
      this.data.even();
      this.painter.names.set(this.groups);
      this.painter.selected = this.#listSelected();
      const begun = performance.now();
      this.painter.paint();
      performance.measure("map-recolour", { start: begun });
      this.#side();
      this.#say();
    } catch (error) {
      this.#trouble(error);
    }
  }

  /** @param {unknown} error */
  #trouble(error) {
    if (this.stopped.signal.aborted) return;
    if (this.data.n === 0) this.page.wait.textContent = String(error);
    else if (this.groups.length > 0) this.ctx.toast(String(error), "bad");
  }

  // ------------------------------------------------------------------ display

  #moved() {
    this.page.tip.hidden = true;
    this.painter.moved();
  }

  #rings() {
    this.painter.rings = [];
    if (this.hovered >= 0) this.painter.rings.push({ row: this.hovered, strong: false });
    if (this.pinned >= 0) this.painter.rings.push({ row: this.pinned, strong: true });
    this.painter.over();
  }

  #repaint() {
    this.painter.paint();
    this.#side();
  }

  #side() {
    legend(this.page.list, this.groups, this.painter.alone, (number) => this.#isolate(number));
    groupTable(this.page.table, this.groups);
    this.page.ramp.hidden = this.painter.by !== "doubt";
    this.page.column.hidden = this.painter.by !== "column" || this.painter.column === null;
    this.painter.column?.legend(this.page.column, computed(colour("--surface")));
    if (this.pinned >= 0) void this.#panel();
  }

  #say() {
    const parts = [count(this.data.n, "item"), this.groups.length ? count(this.groups.length, "group") : "no groups yet"];
    if (this.data.method) parts.push(`similar items are near each other (${this.data.method})`);
    if (!this.data.final) parts.push("a better layout is being computed");
    this.page.status.textContent = parts.join(" · ");
  }

  // ------------------------------------------------------------------ interaction

  /** @param {number} row */
  #toggle(row) {
    if (row < 0) return;
    this.#select([row], !selection.has(row));
    this.ctx.announce(`${selection.has(row) ? "Selected" : "Not selected"}. ${count(selection.size, "item")} selected.`);
  }

  /**
   * @param {number[]} rows
   * @param {boolean} selected
   */
  #select(rows, selected) {
    selection.set(rows, selected, (row) => this.data.labels[row] === NO_GROUP);
  }

  #showSelected() {
    this.painter.selected = this.#listSelected();
    this.painter.over();
  }

  #listSelected() {
    return selection.rows.filter((row) => row < this.data.n);
  }

  /**
   * @param {{x: number, y: number}[]} line
   * @param {boolean} done
   * @param {boolean} add
   */
  #lasso(line, done, add) {
    this.painter.line = done ? [] : line;
    if (!done || line.length === 0) {
      this.painter.over();
      return;
    }
    const rows = enclosed(line, this.camera.transform(), this.data.xy, (row) => this.painter.shows(row));
    if (!add) selection.clear();
    this.#select(rows, true);
    this.ctx.announce(`${count(selection.size, "item")} selected.`);
  }

  async #search() {
    const { text } = this;
    try {
      /** @type {{rows: number[], more: boolean} | null} */
      const got = text ? await this.ctx.api.get("api/search", { q: text, limit: 1 }) : null;
      this.matches = (got?.rows ?? []).filter((row) => row < this.data.n);
      this.painter.found = got ? new Uint8Array(this.data.n) : null;
      for (const row of this.matches) /** @type {Uint8Array} */ (this.painter.found)[row] = 1;
      this.page.found.textContent = got ? `${count(this.matches.length, "item")}${got.more ? " or more" : ""} found` : "";
      this.page.selectFound.hidden = this.matches.length === 0;
      this.painter.paint();
    } catch (error) {
      this.page.found.textContent = String(error);
    }
  }

  /**
   * @param {"group" | "doubt" | "column"} by
   * @param {string} [name] of the column
   */
  async #colourBy(by, name) {
    const column = this.columns.find((one) => one.name === name);
    if (by === "column" && column) {
      try {
        this.painter.column = await MapColumn.load(this.ctx, column);
      } catch (error) {
        this.#trouble(error);
        return;
      }
    }
    this.painter.by = by;
    if (by === "doubt") {
      try {
        await this.data.doubts();
      } catch (error) {
        this.#trouble(error);
      }
    }
    this.data.even();
    this.painter.place();
    this.#side();
  }

  /** @param {boolean} shown */
  async #showLines(shown) {
    this.painter.lines = shown;
    if (shown) await this.refresh();
    this.painter.over();
  }

  /** @param {number | null} number */
  #isolate(number) {
    this.painter.alone = number;
    const group = number === null ? null : this.painter.groups.get(number);
    this.ctx.announce(group ? `${groupName(group)} only, ${count(group.size, "item")}` : "All groups");
    this.#repaint();
  }

  get index() {
    this.found ??= new PointIndex(this.data.xy);
    return this.found;
  }

  /**
   * The row at a position of the stage, or -1.
   * @param {number} x
   * @param {number} y
   */
  #at(x, y) {
    if (this.data.n === 0) return -1;
    const { ax, ay, bx, by } = this.camera.transform();
    const { alone, found } = this.painter;
    const wanted = alone === null && found === null ? null : (/** @type {number} */ row) => this.painter.shows(row);
    return this.index.nearest((x - bx) / ax, (y - by) / ay, ax, ay, REACH, wanted);
  }

  /** @param {number} row */
  #groupOf(row) {
    const number = this.data.labels[row] ?? NO_GROUP;
    return this.painter.groups.get(number) ?? null;
  }

  /**
   * The pointer is on an item: draw a ring around it, and show it when loaded.
   * @param {number} row
   * @param {boolean} aloud
   */
  async #point(row, aloud) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.page.overlay.classList.toggle("pointing", row >= 0);
    this.#rings();
    if (row < 0) {
      this.page.tip.hidden = true;
      return;
    }
    try {
      const item = await this.items.get(row);
      if (this.hovered !== row) return; // the pointer has moved on
      const group = this.#groupOf(row);
      const { ax, ay, bx, by } = this.camera.transform();
      const { clientWidth: width, clientHeight: height } = this.page.stage;
      const [x, y] = this.data.place(row);
      showTip(this.page.tip, item, group, { x: x * ax + bx, y: y * ay + by, width, height });
      if (aloud) this.ctx.announce(`${itemName(item)}, ${group ? `in ${groupName(group)}` : "in no group yet"}`);
    } catch (error) {
      if (this.hovered === row) this.page.tip.hidden = true;
      if (aloud) this.ctx.announce(String(error));
    }
  }

  /** @param {"left" | "right" | "up" | "down"} direction */
  #step(direction) {
    if (this.data.n === 0) return;
    const { ax, ay } = this.camera.transform();
    const from = this.hovered >= 0 ? this.hovered : this.pinned;
    const row = from >= 0
      ? this.index.step(from, direction, ax, ay, GAP)
      : this.index.nearest(this.camera.x, this.camera.y, ax, ay, Infinity);
    if (row < 0) {
      this.ctx.announce("No further item in this direction");
      return;
    }
    if (this.camera.show(...this.data.place(row))) this.painter.moved();
    void this.#point(row, true);
  }

  /**
   * @param {number} row
   * @param {boolean} [enter] whether to move the focus to the panel
   */
  async #pin(row, enter = false) {
    if (row < 0) {
      this.#unpin();
      return;
    }
    this.pinned = row;
    this.#rings();
    try {
      await this.data.doubts();
      this.data.even();
    } catch {
      // Without the item, the panel still shows the rest.
    }
    await this.#panel();
    if (enter) this.page.panel.querySelector("button")?.focus();
    else this.page.panel.scrollIntoView({ block: "nearest" });
  }

  #unpin() {
    const inside = this.page.panel.contains(document.activeElement);
    this.pinned = -1;
    this.page.panel.hidden = true;
    this.#rings();
    if (inside) this.page.overlay.focus();
  }

  async #panel() {
    const row = this.pinned;
    try {
      const item = await this.items.get(row);
      if (this.pinned !== row) return;
      const { panel } = this.page;
      const held = panel.contains(document.activeElement) ? document.activeElement?.getAttribute("data-focus") : null;
      const group = this.#groupOf(row);
      const number = group?.number ?? null;
      showPanel(panel, item, group, this.data.doubt[row] ?? 0, {
        close: () => this.#unpin(),
        alone: () => this.#isolate(this.painter.alone === number ? null : number),
        isAlone: number !== null && this.painter.alone === number,
        open: () => this.ctx.go(`groups/${number}`),
        notHere: () => void giveHint(this.ctx, `api/groups/${number}/not-here`, { row }, "Saved as a hint:"),
      });
      if (held) /** @type {HTMLElement | null} */ (panel.querySelector(`[data-focus="${held}"]`))?.focus();
    } catch (error) {
      this.ctx.toast(String(error), "bad");
    }
  }
}
