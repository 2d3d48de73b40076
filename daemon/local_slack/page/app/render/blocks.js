/** A message's or a view's blocks (Slack: Block Kit), as far as a soul's words need them. */

import { el, icon } from "../dom.js";
import { ICONS } from "../icons.js";
import { decoded, link } from "./inline.js";
import { plan } from "./plan.js";
import { prose } from "./prose.js";

/**
 * @typedef {object} Setting
 * @property {import("./inline.js").Words} words
 * @property {string} chosen the value of the feedback that was given, or empty
 * @property {(actionId: string, value: string) => void} press
 */

const SHOWN = {
  markdown: (block, { words }) => prose(block.text ?? "", words, "markdown"),
  section: (block, setting) => section(block, setting),
  header: (block, { words }) =>
    el("div", { class: "heading level-2", role: "heading", "aria-level": 2 }, said(block.text, words)),
  divider: () => el("hr"),
  context: (block, { words }) =>
    el("div", { class: "context" }, ...(block.elements ?? []).map((each) => small(each, words))),
  image: (block) => picture(block),
  actions: (block, setting) =>
    el("div", { class: "actions" }, ...(block.elements ?? []).map((each) => button(each, setting))),
  context_actions: (block, setting) => contextActions(block, setting),
};
const CONTENT = new Set(["markdown", "section", "header", "context", "image", "divider"]);

/** What a message says, without what stands around it. @param {any} message @param {Setting} setting */
export function messageBody(message, setting) {
  const all = message.blocks ?? [];
  const rich = all.some((block) => CONTENT.has(block.type));
  const dialect = message.streaming_state ? "markdown" : "mrkdwn";
  const body = rich || !message.text ? [] : [prose(message.text, setting.words, dialect)];
  return [plan(message), ...body, ...viewBlocks(all, setting)].filter(Boolean);
}

/** The nodes of some blocks; kinds unknown here are left out. @param {any[]} all @param {Setting} setting */
export function viewBlocks(all, setting) {
  return all.map((block) => SHOWN[block.type]?.(block, setting)).filter(Boolean);
}

function section(block, setting) {
  const fields = (block.fields ?? []).map((field) => el("div", { class: "field" }, said(field, setting.words)));
  const accessory = block.accessory?.type === "button" ? button(block.accessory, setting) : null;
  const text = block.text ? said(block.text, setting.words) : null;
  return el(
    "div",
    { class: "section" },
    el("div", {}, text, fields.length ? el("div", { class: "fields" }, ...fields) : null),
    accessory,
  );
}

function said(text, words) {
  if (!text) return null;
  return text.type === "mrkdwn"
    ? prose(text.text ?? "", words, "mrkdwn")
    : el("div", { dir: "auto" }, String(text.text ?? ""));
}

function small(element, words) {
  return element.type === "image" ? el("span", {}, `[${element.alt_text ?? "picture"}]`) : said(element, words);
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
  const on = { click: () => press(element.action_id, String(element.value ?? "")) };
  const spoken = element.accessibility_label ?? null;
  const attributes = { type: "button", class: kind, "aria-label": spoken, title: spoken };
  return el("button", { ...attributes, data: { focus: element.action_id ?? "" }, on }, name);
}

function contextActions(block, setting) {
  const elements = (block.elements ?? []).filter((element) => element.type === "feedback_buttons");
  return el(
    "div",
    { class: "feedback", role: "group", "aria-label": "Was this answer good?" },
    ...elements.flatMap((element) => [
      feedbackButton(element, "positive_button", ICONS.up, setting),
      feedbackButton(element, "negative_button", ICONS.down, setting),
    ]),
  );
}

function feedbackButton(element, part, drawing, { chosen, press }) {
  const { text, value, accessibility_label: spoken } = element[part] ?? {};
  const name = text?.text ?? "Feedback";
  const attributes = { type: "button", class: "icon-button", title: name, "aria-label": spoken || name };
  attributes["aria-pressed"] = String(chosen === value);
  return el(
    "button",
    { ...attributes, data: { focus: part }, on: { click: () => press(element.action_id, value) } },
    icon(drawing),
  );
}
