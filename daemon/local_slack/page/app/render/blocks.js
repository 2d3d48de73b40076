/** The blocks of a message or a view (Slack: Block Kit), as far as a soul uses them. */

import { el, icon } from "../dom.js";
import { ICONS } from "../icons.js";
import { confirmed } from "../confirming.js";
import { decoded, link } from "./inline.js";
import { plan } from "./plan.js";
import { prose } from "./prose.js";

/**
 * @typedef {object} Setting
 * @property {import("./inline.js").Names} names
 * @property {string} chosen the value of the chosen feedback button, or empty
 * @property {(actionId: string, value: string) => void} press
 */

const SHOWN = {
  markdown: (block, { names }) => prose(block.text ?? "", names, "markdown"),
  section: (block, setting) => section(block, setting),
  header: (block, { names }) =>
    el("div", { class: "heading level-2", role: "heading", "aria-level": 2 }, textNode(block.text, names)),
  divider: () => el("hr"),
  context: (block, { names }) =>
    el("div", { class: "context" }, ...(block.elements ?? []).map((each) => small(each, names))),
  image: (block) => picture(block),
  actions: (block, setting) =>
    el("div", { class: "actions" }, ...(block.elements ?? []).map((each) => button(each, setting))),
  context_actions: (block, setting) => contextActions(block, setting),
};
const CONTENT = new Set(["markdown", "section", "header", "context", "image", "divider"]);

/** The nodes of a message's content. @param {any} message @param {Setting} setting */
export function messageBody(message, setting) {
  const all = message.blocks ?? [];
  const rich = all.some((block) => CONTENT.has(block.type));
  const dialect = message.streaming_state ? "markdown" : "mrkdwn";
  const body = rich || !message.text ? [] : [prose(message.text, setting.names, dialect)];
  return [plan(message), ...body, ...viewBlocks(all, setting)].filter(Boolean);
}

/** The nodes of blocks; unknown kinds are omitted. @param {any[]} all @param {Setting} setting */
export function viewBlocks(all, setting) {
  return all.map((block) => SHOWN[block.type]?.(block, setting)).filter(Boolean);
}

function section(block, setting) {
  const fields = (block.fields ?? []).map((field) => el("div", { class: "field" }, textNode(field, setting.names)));
  const accessory = block.accessory?.type === "button" ? button(block.accessory, setting) : null;
  const text = block.text ? textNode(block.text, setting.names) : null;
  return el(
    "div",
    { class: "section" },
    el("div", {}, text, fields.length ? el("div", { class: "fields" }, ...fields) : null),
    accessory,
  );
}

function textNode(text, names) {
  if (!text) return null;
  return text.type === "mrkdwn"
    ? prose(text.text ?? "", names, "mrkdwn")
    : el("div", { dir: "auto" }, String(text.text ?? ""));
}

function small(element, names) {
  return element.type === "image" ? el("span", {}, `[${element.alt_text ?? "picture"}]`) : textNode(element, names);
}

function picture(block) {
  const name = block.alt_text || block.title?.text || "picture";
  return el("p", { class: "picture" }, block.image_url ? link(block.image_url, name) : name);
}

function button(element, { press }) {
  const name = decoded(String(element.text?.text ?? "Choose"));
  if (element.type !== "button") return null;
  if (element.url) return link(element.url, name);
  const kind = ["primary", "danger"].includes(element.style) ? `button ${element.style}` : "button";
  const on = { click: () => confirmed(element.confirm, () => press(element.action_id, String(element.value ?? ""))) };
  const label = element.accessibility_label ?? null;
  const attributes = { type: "button", class: kind, "aria-label": label, title: label };
  return el("button", { ...attributes, data: { focus: element.action_id ?? "" }, on }, name);
}

function contextActions(block, setting) {
  const elements = (block.elements ?? []).filter((element) => element.type === "feedback_buttons");
  return el(
    "div",
    { class: "feedback", role: "group", "aria-label": "Rate this reply" },
    ...elements.flatMap((element) => [
      feedbackButton(element, "positive_button", ICONS.up, setting),
      feedbackButton(element, "negative_button", ICONS.down, setting),
    ]),
  );
}

function feedbackButton(element, part, drawing, { chosen, press }) {
  const { text, value, accessibility_label: label } = element[part] ?? {};
  const name = text?.text ?? "Feedback";
  const attributes = { type: "button", class: "icon-button", title: name, "aria-label": label || name };
  attributes["aria-pressed"] = String(chosen === value);
  return el(
    "button",
    { ...attributes, data: { focus: part }, on: { click: () => press(element.action_id, value) } },
    icon(drawing),
  );
}
