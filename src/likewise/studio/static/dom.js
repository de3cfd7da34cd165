/**
 * The only place where elements are created. Text is never parsed as HTML, attributes come from an allow-list, and
 * addresses must belong to this server, so no item, file or name can introduce a script.
 */

const ATTRIBUTES = new Set([
  "accept", "alt", "autocomplete", "autofocus", "checked", "class", "cols", "colspan", "controls", "datetime",
  "decoding", "dir", "disabled", "download", "draggable", "enterkeyhint", "for", "height", "hidden", "href", "id",
  "inputmode", "label", "lang", "loading", "max", "maxlength", "method", "min", "multiple", "name", "novalidate",
  "open", "pattern", "placeholder", "preload", "readonly", "rel", "required", "role", "rows", "rowspan", "scope",
  "selected", "size", "spellcheck", "src", "step", "tabindex", "target", "title", "type", "value", "width",
]);

const DRAWN = new Set([
  "class", "cx", "cy", "d", "fill", "height", "points", "preserveAspectRatio", "r", "role", "rx", "stroke",
  "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-width", "text-anchor", "transform", "viewBox",
  "width", "x", "x1", "x2", "y", "y1", "y2",
]);

const ADDRESSES = new Set(["href", "src"]);

/**
 * @typedef {Node | string | number | null | undefined | false} Plain
 * @typedef {Plain | Plain[]} Child
 * @typedef {Record<string, any> & {on?: Record<string, (event: any) => void>}} Props
 */

/**
 * Create an element: `h("button", {class: "quiet", on: {click: act}}, "Undo")`.
 *
 * A property that is null, undefined or false is left out; true sets the bare attribute; `aria-*` takes any value.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props, ...children) {
  if (["script", "style", "iframe", "object", "embed", "link", "base", "meta"].includes(tag)) {
    throw new TypeError(`<${tag}> is not an allowed element.`);
  }
  const element = document.createElement(tag);
  dress(element, props, ATTRIBUTES);
  put(element, ...children);
  return element;
}

/**
 * The same for SVG, for icons and small charts.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function s(tag, props, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  dress(element, props, DRAWN);
  put(element, ...children);
  return element;
}

/**
 * @param {Element} element
 * @param {Props | null | undefined} props
 * @param {Set<string>} allowed
 */
function dress(element, props, allowed) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, /** @type {any} */ (act));
      continue;
    }
    const free = name.startsWith("aria-") || name.startsWith("data-");
    if (!free && !allowed.has(name)) throw new TypeError(`attribute "${name}" is not on the allow-list of dom.js.`);
    if (value === null || value === undefined) continue;
    if (value === false && !name.startsWith("aria-")) continue;
    const text = value === true && !name.startsWith("aria-") ? "" : String(value);
    if (ADDRESSES.has(name) && !isOurs(text)) throw new TypeError(`address "${text}" does not belong to this server.`);
    element.setAttribute(name, text);
  }
}

/**
 * Whether an address is safe: same origin, or created by this page.
 * @param {string} address
 * @returns {boolean}
 */
export function isOurs(address) {
  if (address.startsWith("blob:") || address.startsWith("data:image/png")) return true;
  try {
    return new URL(address, document.baseURI).origin === location.origin;
  } catch {
    return false;
  }
}

/**
 * Append children; strings become text.
 * @param {Node} parent
 * @param {...Child} children
 */
export function put(parent, ...children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Replace all children.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  put(parent, ...children);
}

/**
 * The value of a colour token such as "--accent", resolved for the current theme, for use in a canvas.
 * @param {string} token
 * @returns {string}
 */
export function colour(token) {
  const probe = document.createElement("span");
  probe.hidden = true;
  probe.style.color = `var(${token})`;
  document.body.appendChild(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/**
 * Open a modal dialog with a title and a close button. Closing it restores the focus.
 * @param {string} title
 * @param {Child[]} content
 * @param {{class?: string, onClose?: () => void}} [options]
 * @returns {HTMLDialogElement}
 */
export function openDialog(title, content, options = {}) {
  const before = document.activeElement;
  const name = `dialog-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  const close = h("button", { type: "button", class: "quiet icon", "aria-label": "Close", on: { click: () => dialog.close() } },
    s("svg", { viewBox: "0 0 24 24", class: "glyph", "aria-hidden": "true" }, s("path", { d: "M6 6l12 12M18 6L6 18" })));
  const dialog = h("dialog", { class: options.class ?? "", "aria-labelledby": name },
    h("div", { class: "dialog-head" }, h("h2", { id: name, tabindex: "-1" }, title), close),
    h("div", { class: "dialog-body" }, ...content));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    options.onClose?.();
  });
  document.body.appendChild(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Take the focus off what was pressed by pointer, or Space would press it again instead of enlarging the items.
 * @param {MouseEvent} event
 */
export function blurAfterClick(event) {
  if (event.detail > 0) /** @type {HTMLElement} */ (event.currentTarget).blur();
}

/** A key for a request that must count only once. `randomUUID` is unavailable on plain http except on localhost. */
export function freshKey() {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * "1 answer", "2 answers".
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}
