/** What a message carries below its text: messages that were forwarded with it, and attachments of apps. */

import { el } from "../dom.js";
import { viewBlocks } from "./blocks.js";
import { link } from "./inline.js";
import { prose } from "./prose.js";

const DEEPEST = 3; // forwards within forwards
const MOST = 20; // attachments of one message, fields of one attachment
const COLOUR = /^#?([0-9a-f]{6})$/i;

/**
 * The nodes of a message's attachments, in order.
 * @param {any} message
 * @param {import("./blocks.js").Setting} setting
 */
export function attachments(message, setting, depth = 1) {
  return (message.attachments ?? []).slice(0, MOST).map((each) => attachment(each ?? {}, setting, depth));
}

function attachment(carried, setting, depth) {
  const kind = carried.is_share || carried.is_msg_unfurl ? "attachment forwarded" : "attachment";
  const colour = COLOUR.exec(String(carried.color ?? ""));
  const node = el("div", { class: kind }, ...parts(carried, setting, depth));
  if (colour) node.style.borderInlineStartColor = `#${colour[1]}`;
  return node;
}

function parts(carried, setting, depth) {
  const { names } = setting;
  const said = carried.text || (carried.blocks || carried.fields ? "" : carried.fallback);
  const inner = carried.attachments?.length && depth < DEEPEST ? attachments(carried, setting, depth + 1) : [];
  return [
    carried.pretext && prose(String(carried.pretext), names, "mrkdwn"),
    carried.author_name && el("bdi", { class: "attachment-author" }, String(carried.author_name)),
    title(carried),
    said && prose(String(said), names, "mrkdwn"),
    ...viewBlocks((carried.blocks ?? []).slice(0, MOST), setting),
    fields(carried, names),
    ...(carried.files ?? []).slice(0, MOST).map((file) => el("bdi", { class: "attachment-file" }, String(file.name))),
    ...inner,
    footer(carried),
  ];
}

function title({ title: words, title_link: address }) {
  if (!words) return null;
  return el("p", { class: "attachment-title" }, address ? link(String(address), String(words)) : String(words));
}

function fields(carried, names) {
  const shown = (carried.fields ?? []).slice(0, MOST).map((field) =>
    el(
      "div",
      { class: "field" },
      el("strong", {}, String(field?.title ?? "")),
      prose(String(field?.value ?? ""), names, "mrkdwn"),
    ),
  );
  return shown.length ? el("div", { class: "fields" }, ...shown) : null;
}

function footer(carried) {
  const address = carried.from_url && carried.is_share ? link(String(carried.from_url), "View message") : null;
  return carried.footer || address
    ? el("p", { class: "quiet attachment-footer" }, String(carried.footer ?? ""), address && " ", address)
    : null;
}
