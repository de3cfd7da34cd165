/** Pictures side by side that zoom and move together: wheel, pinch, drag, double click and keys. */

const LARGEST = 40; // times
const STEP = 1.5; // of a key or button

/**
 * Let frames of equal size, each with one picture, zoom and move together. The place under the pointer or between two
 * fingers stays where it is.
 * @param {HTMLElement[]} frames
 * @param {(scale: number) => void} onChange called with the scale after each change, and once at first
 * @returns {{zoomIn: () => void, zoomOut: () => void, reset: () => void, onKey: (event: KeyboardEvent) => boolean}}
 */
export function zoomTogether(frames, onChange) {
  let scale = 1;
  let x = 0; // shift of the pictures, in their widths and heights
  let y = 0;

  const draw = () => {
    scale = Math.min(LARGEST, Math.max(1, scale));
    const most = (scale - 1) / (2 * scale);
    x = Math.min(most, Math.max(-most, x));
    y = Math.min(most, Math.max(-most, y));
    for (const frame of frames) {
      const image = frame.querySelector("img");
      if (image) image.style.transform = `scale(${scale}) translate(${100 * x}%, ${100 * y}%)`;
    }
    onChange(scale);
  };
  /** Zoom around a place, in widths and heights from the middle of its frame. @param {number} factor @param {{u: number, v: number}} [place] */
  const by = (factor, { u, v } = { u: 0, v: 0 }) => {
    const next = Math.min(LARGEST, Math.max(1, scale * factor));
    x += u / next - u / scale;
    y += v / next - v / scale;
    scale = next;
    draw();
  };
  /** @param {number} dx @param {number} dy in widths and heights of a frame */
  const move = (dx, dy) => { x += dx / scale; y += dy / scale; draw(); };
  const reset = () => { scale = 1; draw(); };

  for (const frame of frames) {
    /** @type {Map<number, {clientX: number, clientY: number}>} */
    const fingers = new Map();
    /** @param {{clientX: number, clientY: number}} at */
    const place = (at) => {
      const box = frame.getBoundingClientRect();
      return { u: (at.clientX - box.left) / box.width - 0.5, v: (at.clientY - box.top) / box.height - 0.5 };
    };
    frame.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
      by(Math.exp((-event.deltaY * lines) / 400), place(event));
    }, { passive: false });
    frame.addEventListener("dblclick", (event) => { if (scale > 1) reset(); else by(3, place(event)); });
    frame.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, event);
      frame.setPointerCapture(event.pointerId);
    });
    for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) frame.addEventListener(end, (event) => fingers.delete(event.pointerId));
    frame.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      const part = other ? 2 : 1; // two fingers move a picture by the mean of their ways
      move((event.clientX - before.clientX) / frame.clientWidth / part, (event.clientY - before.clientY) / frame.clientHeight / part);
      if (other) {
        const was = Math.hypot(before.clientX - other.clientX, before.clientY - other.clientY);
        const now = Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY);
        by(now / Math.max(was, 1), place({ clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 }));
      }
      fingers.set(event.pointerId, event);
    });
  }

  const zoomIn = () => by(STEP);
  const zoomOut = () => by(1 / STEP);
  /** @type {Record<string, () => void>} */
  const keys = {
    "+": zoomIn, "=": zoomIn, "-": zoomOut, "0": reset,
    ArrowLeft: () => move(0.1, 0), ArrowRight: () => move(-0.1, 0), ArrowUp: () => move(0, 0.1), ArrowDown: () => move(0, -0.1),
  };
  draw();
  return {
    zoomIn, zoomOut, reset,
    onKey: (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return false; // the zoom of the browser
      keys[event.key]?.();
      return event.key in keys;
    },
  };
}
