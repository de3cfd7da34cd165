// Selecting items on the map: the rows inside a drawn line, and how line and selection are drawn.

import { colour } from "./dom.js";

/** @import {Transform} from "./map_camera.js" */

/** @typedef {{x: number, y: number}} Point */

/**
 * The rows inside a closed line.
 * @param {Point[]} line in CSS pixels
 * @param {Transform} transform to CSS pixels
 * @param {Float32Array} xy
 * @param {(row: number) => boolean} shown
 */
export function enclosed(line, transform, xy, shown) {
  /** @type {number[]} */
  const rows = [];
  const xs = line.map((point) => point.x);
  const ys = line.map((point) => point.y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  for (let row = 0; 2 * row < xy.length; row++) {
    const x = xy[2 * row] * transform.ax + transform.bx;
    const y = xy[2 * row + 1] * transform.ay + transform.by;
    if (x < left || x > right || y < top || y > bottom || !shown(row)) continue;
    let inside = false;
    for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
      if (ys[i] > y !== ys[j] > y && x < ((xs[j] - xs[i]) * (y - ys[i])) / (ys[j] - ys[i]) + xs[i]) inside = !inside;
    }
    if (inside) rows.push(row);
  }
  return rows;
}

/**
 * Draw rings around rows, and the line that is being drawn.
 * @param {HTMLCanvasElement} canvas
 * @param {number} ratio device pixels to a CSS pixel
 * @param {Transform} transform to CSS pixels
 * @param {Float32Array} xy
 * @param {number[]} rows
 * @param {Point[]} line
 */
export function drawSelection(canvas, ratio, transform, xy, rows, line) {
  const context = canvas.getContext("2d");
  if (context === null || (rows.length === 0 && line.length < 2)) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.beginPath();
  for (const row of rows) {
    const x = xy[2 * row] * transform.ax + transform.bx;
    const y = xy[2 * row + 1] * transform.ay + transform.by;
    context.moveTo(x + 7, y);
    context.arc(x, y, 7, 0, 2 * Math.PI);
  }
  context.lineWidth = 4;
  context.strokeStyle = colour("--surface");
  context.stroke();
  context.lineWidth = 2;
  context.strokeStyle = colour("--accent");
  context.stroke();
  if (line.length < 2) return;
  context.beginPath();
  for (const { x, y } of line) context.lineTo(x, y);
  context.closePath();
  context.globalAlpha = 0.15;
  context.fillStyle = colour("--accent");
  context.fill();
  context.globalAlpha = 1;
  context.setLineDash([5, 4]);
  context.stroke();
  context.setLineDash([]);
}
