/** Avatars: initials on a colour for users, a spark for the soul. */

import { el, icon } from "../dom.js";
import { emoji } from "../emoji.js";
import { ICONS } from "../icons.js";

const TINTS = 8;

/** @param {any} person or undefined @param {string} size a class: `small`, `large` or empty */
export function avatar(person, size = "") {
  const attributes = { class: `avatar ${size}`, "aria-hidden": "true" };
  if (person?.is_bot) return el("span", { ...attributes, class: `avatar soul ${size}` }, icon(ICONS.spark));
  const name = person?.real_name || person?.display_name || "?";
  const initials = name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => Array.from(word)[0] ?? "")
    .join("");
  return el("span", { ...attributes, class: `avatar tint-${tint(person?.id ?? "")} ${size}` }, initials.toUpperCase());
}

/**
 * The avatar of a message: its author's, or the custom one that the app posted it with.
 * @param {any} message
 * @param {any} author or undefined
 */
export function messageAvatar(message, author) {
  if (!message.username) return avatar(author);
  const sign = emoji(String(message.icons?.emoji ?? "").replaceAll(":", ""));
  const drawn = sign ?? Array.from(message.username)[0].toUpperCase();
  const kind = sign ? "emoji" : `tint-${tint(message.username)}`;
  return el("span", { class: `avatar soul-other ${kind}`, "aria-hidden": "true" }, drawn);
}

function tint(id) {
  let sum = 0;
  for (const character of id) sum = (sum * 27 + character.codePointAt(0)) % 9973;
  return sum % TINTS;
}
