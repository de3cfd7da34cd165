// Style sheets that belong to a single view are loaded with it.

/** @type {Map<string, Promise<void>>} */
const asked = new Map();

/**
 * Load a style sheet once; resolves when it is applied or has failed.
 * @param {string} name such as "map.css"
 * @returns {Promise<void>}
 */
export function useStyle(name) {
  const known = asked.get(name);
  if (known) return known;
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL(name, import.meta.url).href;
  /** @type {Promise<void>} */
  const ready = new Promise((resolve) => {
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => resolve()); // a page without its style still works
  });
  document.head.appendChild(link);
  asked.set(name, ready);
  return ready;
}
