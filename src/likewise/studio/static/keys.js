/**
 * Keyboard shortcuts: which key does what (stored on this machine), and which view handles it.
 *
 * A view calls `const end = ctx.keys.use({"pair.same": act, …})`; the layer added last has priority. Keys are ignored
 * while a person types or a dialog is open, with Ctrl, Alt or Meta, and when a held key repeats.
 */

/** @typedef {{name: string, label: string, group: "pair" | "triplet" | "placement" | "members" | "label" | "repair" | "any", keys: string[]}} Action */

/** @type {readonly Action[]} */
export const ACTIONS = [
  { name: "pair.same", label: "Same", group: "pair", keys: ["s", "ArrowRight", "3"] },
  { name: "pair.different", label: "Different", group: "pair", keys: ["d", "ArrowLeft", "1"] },
  { name: "pair.unsure", label: "Unsure", group: "pair", keys: ["u", "2"] },
  { name: "triplet.ab", label: "A and B", group: "triplet", keys: ["1"] },
  { name: "triplet.ac", label: "A and C", group: "triplet", keys: ["2"] },
  { name: "triplet.bc", label: "B and C", group: "triplet", keys: ["3"] },
  { name: "triplet.neither", label: "No two", group: "triplet", keys: ["n", "4"] },
  { name: "triplet.unsure", label: "Unsure", group: "triplet", keys: ["u", "5"] },
  ...[1, 2, 3, 4, 5, 6, 7].map((n) => /** @type {Action} */ ({ name: `group.${n}`, label: `Group ${n}`, group: "placement", keys: [String(n)] })),
  { name: "placement.new", label: "A new group", group: "placement", keys: ["n"] },
  { name: "placement.unsure", label: "Unsure", group: "placement", keys: ["u"] },
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => /** @type {Action} */ ({ name: `tile.${n}`, label: `Item ${n} does not belong`, group: "members", keys: [String(n % 10)] })),
  { name: "members.confirm", label: "Confirm", group: "members", keys: ["Enter"] },
  { name: "members.unsure", label: "Unsure", group: "members", keys: ["u"] },
  { name: "label.save", label: "Save the name", group: "label", keys: ["Enter"] },
  { name: "label.unsure", label: "Unsure", group: "label", keys: ["u"] },
  { name: "repair.select", label: "Select the item in focus; with Shift, a range", group: "repair", keys: ["s"] },
  { name: "repair.move", label: "The selected items belong to…", group: "repair", keys: ["m"] },
  { name: "repair.split", label: "Split off as a new group", group: "repair", keys: ["n"] },
  { name: "repair.shelve", label: "None of these, or off the shelf", group: "repair", keys: ["o"] },
  { name: "repair.name", label: "Accept the suggested name", group: "repair", keys: ["y"] },
  { name: "skip", label: "Skip", group: "any", keys: ["k"] },
  { name: "undo", label: "Undo my last answer", group: "any", keys: ["z"] },
  { name: "note", label: "Write a note", group: "any", keys: ["t"] },
  { name: "broken", label: "An item is broken", group: "any", keys: ["x"] },
  { name: "zoom", label: "Enlarge", group: "any", keys: [" "] },
  { name: "play.1", label: "Play sound A", group: "any", keys: ["a", "q"] },
  { name: "play.2", label: "Play sound B", group: "any", keys: ["b", "w"] },
  { name: "play.3", label: "Play sound C", group: "any", keys: ["c", "e"] },
  { name: "reference", label: "Reference book", group: "any", keys: ["r"] },
  { name: "help", label: "Help", group: "any", keys: ["?"] },
];

const STORED = "likewise keys";
const NAMES = /** @type {Record<string, string>} */ ({
  " ": "Space", ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓", Enter: "Enter", Backspace: "⌫", Delete: "Del",
});

/**
 * The name of a key on a button.
 * @param {string} key
 */
export function keyName(key) {
  return NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/** @param {string} key */
function plain(key) {
  return key.length === 1 ? key.toLowerCase() : key;
}

export class Keys extends EventTarget {
  /** @type {Map<string, string[]>} */
  #bound = new Map();
  /** @type {Record<string, (event: KeyboardEvent | null) => void>[]} */
  #layers = [];
  /** Whether keys are active; assistive tools may type on their own (WCAG 2.1.4). */
  enabled = true;

  constructor() {
    super();
    this.reset(false);
    try {
      const kept = JSON.parse(localStorage.getItem(STORED) ?? "{}");
      this.enabled = kept.enabled !== false;
      for (const [name, keys] of Object.entries(kept.bound ?? {})) {
        if (this.#bound.has(name) && Array.isArray(keys)) this.#bound.set(name, keys.map(String));
      }
    } catch {
      // storage is disabled or has other content: use the default keys
    }
    document.addEventListener("keydown", (event) => this.#pressed(event));
  }

  /**
   * @param {Record<string, (event: KeyboardEvent | null) => void>} layer
   * @returns {() => void} removes the actions
   */
  use(layer) {
    this.#layers.unshift(layer);
    return () => {
      this.#layers = this.#layers.filter((one) => one !== layer);
    };
  }

  /** @param {string} name */
  of(name) {
    return this.#bound.get(name) ?? [];
  }

  /**
   * The key shown on the button of an action.
   * @param {string} name
   */
  label(name) {
    const first = this.of(name)[0];
    return first !== undefined && this.enabled ? keyName(first) : "";
  }

  /**
   * Assign one key to an action. Another action available at the same time loses it.
   * @param {string} name
   * @param {string} key
   * @returns {string | null} the label of the action that lost it
   */
  bind(name, key) {
    const wanted = plain(key);
    const mine = /** @type {Action} */ (ACTIONS.find((action) => action.name === name));
    /** @type {string | null} */
    let lost = null;
    for (const other of ACTIONS) {
      const meets = other.group === mine.group || other.group === "any" || mine.group === "any";
      if (other === mine || !meets || !this.of(other.name).includes(wanted)) continue;
      this.#bound.set(other.name, this.of(other.name).filter((one) => one !== wanted));
      lost ??= other.label;
    }
    this.#bound.set(name, [wanted]);
    this.#keep();
    return lost;
  }

  /** @param {boolean} enabled */
  enable(enabled) {
    this.enabled = enabled;
    this.#keep();
  }

  /** Restore the default keys. */
  reset(keep = true) {
    for (const action of ACTIONS) this.#bound.set(action.name, [...action.keys]);
    if (keep) this.#keep();
  }

  #keep() {
    try {
      localStorage.setItem(STORED, JSON.stringify({ enabled: this.enabled, bound: Object.fromEntries(this.#bound) }));
    } catch {
      // they apply until the page is closed
    }
    this.dispatchEvent(new CustomEvent("change"));
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (!this.enabled || event.defaultPrevented || event.repeat || event.isComposing) return;
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.closest("input:not([type='checkbox']), textarea, select, [contenteditable='true']")) return;
    // A focused button keeps the keys that press it; a player keeps the keys that control it.
    const pressing = event.key === " " || event.key === "Enter";
    if (pressing && target.closest("button, a, summary, audio, input, [role='button']")) return;
    if (target.closest("audio") && event.key.startsWith("Arrow")) return;
    const key = plain(event.key);
    for (const layer of this.#layers) {
      for (const [name, act] of Object.entries(layer)) {
        if (!this.of(name).includes(key)) continue;
        event.preventDefault();
        act(event);
        return;
      }
    }
  }
}
