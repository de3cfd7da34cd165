// Colours of groups. The server assigns one to each group; here they are adapted to the background, and there are 64 more for groups without one.

/** @typedef {[number, number, number]} Rgb */

// The first eight are distinguishable with all common colour vision deficiencies (after Okabe and Ito, with yellow darkened and black replaced by
// grey); the next eight vary lightness and hue. Further ones are computed below.
const FIRST = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a900", "#7f7f7f",
  "#332288", "#88ccee", "#117733", "#ddaa66", "#aa4499", "#882255", "#44aa99", "#661100",
];

/** The colour of items without a group. */
export const NONE = "#9aa0a6";

/**
 * The colour of group `number` if the server assigned none.
 * @param {number} number
 * @returns {string} "#rrggbb"
 */
export function groupColor(number) {
  const place = ((number % 64) + 64) % 64;
  if (place < FIRST.length) return FIRST[place];
  // Steps of the golden angle around the hues, in three levels of lightness: consecutive numbers get distant colours.
  const hue = (place * 137.508) % 360;
  const ring = place % 3;
  return hex(fromHsl(hue, [0.62, 0.5, 0.7][ring], [0.42, 0.58, 0.34][ring]));
}

/**
 * @param {string} color "#rrggbb"
 * @returns {Rgb}
 */
export function rgb(color) {
  const value = Number.parseInt(color.slice(1), 16) || 0;
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/**
 * A colour in the browser's notation: "rgb(1, 2, 3)", with or without an alpha.
 * @param {string} text
 * @returns {Rgb}
 */
export function computed(text) {
  if (text.startsWith("#")) return rgb(text);
  const numbers = text.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return [Number(numbers[0]), Number(numbers[1]), Number(numbers[2])];
}

/**
 * @param {Rgb} color
 * @returns {string}
 */
export function hex([r, g, b]) {
  return `#${[r, g, b].map((c) => Math.round(c).toString(16).padStart(2, "0")).join("")}`;
}

/**
 * @param {Rgb} from
 * @param {Rgb} to
 * @param {number} share weight of `to`
 * @returns {Rgb}
 */
export function mix(from, to, share) {
  return [
    Math.round(from[0] + (to[0] - from[0]) * share),
    Math.round(from[1] + (to[1] - from[1]) * share),
    Math.round(from[2] + (to[2] - from[2]) * share),
  ];
}

/**
 * The colour, shifted towards white or black until its contrast to the background suffices.
 * @param {Rgb} color
 * @param {Rgb} background
 * @param {number} [least] minimum contrast, as defined by WCAG
 * @returns {Rgb}
 */
export function readable(color, background, least = 2.2) {
  /** @type {Rgb} */
  const away = brightness(background) < 0.2 ? [255, 255, 255] : [0, 0, 0];
  for (let share = 0; share < 1; share += 0.08) {
    const tried = mix(color, away, share);
    if (contrast(tried, background) >= least) return tried;
  }
  return away;
}

/**
 * @param {Rgb} a
 * @param {Rgb} b
 */
export function contrast(a, b) {
  const [low, high] = [brightness(a), brightness(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** @param {Rgb} color the relative luminance of WCAG */
function brightness(color) {
  const [r, g, b] = color.map((c) => (c <= 10.31 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * 256 colours from certain to entirely uncertain.
 * @param {Rgb} background
 * @returns {Rgb[]}
 */
export function doubtColors(background) {
  const dark = brightness(background) < 0.2;
  /** @type {Rgb[]} */
  const stops = dark
    ? [[62, 76, 96], [70, 130, 180], [250, 204, 80]]
    : [[196, 208, 222], [86, 130, 178], [176, 32, 60]];
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * 2;
    return at <= 1 ? mix(stops[0], stops[1], at) : mix(stops[1], stops[2], at - 1);
  });
}

/**
 * @param {number} hue in degrees
 * @param {number} saturation
 * @param {number} lightness
 * @returns {Rgb}
 */
function fromHsl(hue, saturation, lightness) {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  /** @param {number} n */
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [channel(0), channel(8), channel(4)];
}
