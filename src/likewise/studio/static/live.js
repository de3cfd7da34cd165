/** Updates from the server by server-sent events, dispatched as events of the page. */

/** @import {Api} from "./api.js" */

const NAMES = ["progress", "picture", "descriptions", "layout", "ready", "trouble", "items", "settings"];

/**
 * Listen while the page is visible. A hidden tab disconnects: browsers allow only six connections per server.
 * @param {Api} api
 * @param {EventTarget} events
 * @param {Record<string, () => Promise<void>>} [first]  done before the event is dispatched
 */
export function listen(api, events, first = {}) {
  /** @type {EventSource | null} */
  let source = null;
  let failures = 0;
  let timer = 0;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    const opened = new EventSource(api.url("api/events"));
    source = opened;
    for (const name of NAMES) {
      opened.addEventListener(name, (event) => {
        try {
          const detail = JSON.parse(event.data || "{}");
          const send = () => events.dispatchEvent(new CustomEvent(name, { detail }));
          const before = first[name];
          if (before) void before().then(send);
          else send();
        } catch (error) {
          console.error("unreadable event", name, error);
        }
      });
    }
    opened.addEventListener("open", () => {
      if (failures > 0) api.get("health").catch(() => {}); // informs the rest of the page that the server is back
      failures = 0;
    });
    opened.addEventListener("error", () => {
      close();
      failures += 1;
      if (failures === 1) api.get("health").catch(() => {}); // is the server gone, or only this stream?
      timer = window.setTimeout(open, Math.min(500 * 2 ** failures, 15_000));
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else open();
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => event.persisted && open());
  if (!document.hidden) open();
}
