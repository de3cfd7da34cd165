// The overlay of the points: answered pairs as lines, and rings around selected items.

import { colour } from "./dom.js";

/** @import {Transform} from "./map_camera.js" */

const MOST = 5000; // maximum number of lines; more are unreadable and slow

/**
 * Draw the overlay.
 * @param {HTMLCanvasElement} canvas
 * @param {number} ratio device pixels to a CSS pixel
 * @param {Transform} transform to CSS pixels
 * @param {Float32Array} xy
 * @param {[number, number, number][]} links empty to hide them
 * @param {{row: number, strong: boolean}[]} rings
 */
export function drawOverlay(canvas, ratio, transform, xy, links, rings) {
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const n = xy.length >> 1;
  /** @param {number} row */
  const x = (row) => xy[2 * row] * transform.ax + transform.bx;
  /** @param {number} row */
  const y = (row) => xy[2 * row + 1] * transform.ay + transform.by;

  const ink = colour("--ink");
  const drawn = links.slice(-MOST).filter(([i, j]) => i < n && j < n);
  for (const together of [0, 1]) {
    context.beginPath();
    for (const [i, j, kind] of drawn) {
      if (kind !== together) continue;
      context.moveTo(x(i), y(i));
      context.lineTo(x(j), y(j));
    }
    context.setLineDash(together ? [] : [3, 5]);
    context.strokeStyle = together ? ink : colour("--bad");
    context.globalAlpha = drawn.length > 300 ? 0.35 : 0.7;
    context.lineWidth = together ? 1.5 : 1.25;
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  for (const { row, strong } of rings) {
    if (row < 0 || row >= n) continue;
    for (const [width, color] of /** @type {[number, string][]} */ ([[6, colour("--bg")], [strong ? 3 : 2, ink]])) {
      context.beginPath();
      context.arc(x(row), y(row), strong ? 9 : 8, 0, 2 * Math.PI);
      context.lineWidth = width;
      context.strokeStyle = color;
      context.stroke();
    }
  }
}
