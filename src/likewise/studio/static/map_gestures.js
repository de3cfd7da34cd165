// Moving the map: translate mouse, touch and keys to a few calls.

/** @import {Camera} from "./map_camera.js" */

/**
 * @typedef {object} Gestures Callbacks for movements of the map and the pointer; positions are in CSS pixels.
 * @property {() => void} moved the camera has changed
 * @property {(x: number, y: number) => void} hover
 * @property {() => void} leave
 * @property {(x: number, y: number) => void} pick
 * @property {(direction: "left" | "right" | "up" | "down") => void} step
 * @property {() => void} choose the item that was stepped to
 * @property {() => void} cancel
 * @property {() => boolean} draws whether a drag draws a line around items instead of moving the map
 * @property {(line: {x: number, y: number}[], done: boolean, add: boolean) => void} lasso a line is being drawn, or is done
 * @property {(x: number, y: number) => void} select
 * @property {() => void} selectStep the item that was stepped to
 */

const CLICK = 5; // pixels by which the pointer may move during a click
/** @type {Record<string, "left" | "right" | "up" | "down">} */
const ARROWS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

/**
 * Add the listeners to an element.
 * @param {HTMLElement} element
 * @param {Camera} camera in CSS pixels
 * @param {Gestures} to
 */
export function gestures(element, camera, to) {
  /** @type {Map<number, {x: number, y: number}>} pressed pointers */
  const down = new Map();
  let travelled = 0;
  /** @type {{x: number, y: number}[]} */
  let line = [];

  /** @param {MouseEvent} event */
  const place = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  /** The centre of all pointers, and their distance from it. */
  const grip = () => {
    const all = [...down.values()];
    const x = all.reduce((sum, p) => sum + p.x, 0) / all.length;
    const y = all.reduce((sum, p) => sum + p.y, 0) / all.length;
    return { x, y, spread: all.length < 2 ? 0 : Math.hypot(all[0].x - all[1].x, all[0].y - all[1].y) };
  };

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    down.set(event.pointerId, place(event));
    if (down.size === 1) travelled = 0;
    line = down.size === 1 && to.draws() ? [place(event)] : []; // two fingers move the map
  });

  element.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (!down.has(event.pointerId)) {
      if (event.pointerType === "mouse") to.hover(at.x, at.y);
      return;
    }
    const before = grip();
    down.set(event.pointerId, at);
    const after = grip();
    travelled += Math.hypot(after.x - before.x, after.y - before.y) + Math.abs(after.spread - before.spread);
    if (travelled <= CLICK) return;
    if (line.length > 0) {
      line.push(at);
      to.lasso(line, false, false);
      return;
    }
    element.classList.add("dragged");
    to.leave();
    camera.pan(after.x - before.x, after.y - before.y);
    if (before.spread > 0 && after.spread > 0) camera.zoomBy(after.spread / before.spread, after.x, after.y);
    to.moved();
  });

  /** @param {PointerEvent} event */
  const up = (event) => {
    if (!down.delete(event.pointerId)) return;
    element.classList.remove("dragged");
    const drawn = line;
    line = [];
    if (drawn.length > 2) {
      to.lasso(event.type === "pointerup" ? drawn : [], true, event.shiftKey);
      return;
    }
    if (down.size === 0 && travelled <= CLICK && event.type === "pointerup") {
      const at = place(event);
      if (drawn.length > 0) to.select(at.x, at.y);
      else to.pick(at.x, at.y);
    }
  };
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("pointerleave", () => to.leave());

  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 16;
    const at = place(event);
    camera.zoomBy(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * lines)) / 400), at.x, at.y);
    to.leave();
    to.moved();
  }, { passive: false });

  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!act(event)) return;
    event.preventDefault();
    event.stopPropagation(); // these keys have other meanings elsewhere
  });

  /** @param {KeyboardEvent} event */
  const act = ({ key, shiftKey }) => {
    if (key in ARROWS) {
      const direction = ARROWS[key];
      if (!shiftKey) {
        to.step(direction);
        return true;
      }
      const far = Math.min(camera.width, camera.height) / 5;
      camera.pan(
        direction === "left" ? far : direction === "right" ? -far : 0,
        direction === "up" ? far : direction === "down" ? -far : 0,
      );
      to.moved();
      return true;
    }
    if (key === "+" || key === "=") camera.zoomBy(1.5);
    else if (key === "-" || key === "_") camera.zoomBy(1 / 1.5);
    else if (key === "0") camera.reset();
    else if (key === "Enter" || key === " ") {
      to.choose();
      return true;
    } else if (key.toLowerCase() === "s") {
      to.selectStep();
      return true;
    } else if (key === "Escape") {
      to.cancel();
      return true;
    } else return false;
    to.moved();
    return true;
  };
}
