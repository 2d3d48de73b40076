/** The inputs of a dialog (Slack: input block): their labels and hints, what was filled in, and what is wrong with it. */

import { el } from "../dom.js";

const LONGEST = 3_000;

/** How each kind of input is made: gives its node, and functions that read and focus it. */
const MADE = {
  plain_text_input: (element, id) => text(element, id),
  static_select: (element, id) => select(element, id),
  multi_static_select: (element, id) => choices(element, id, "checkbox"),
  checkboxes: (element, id) => choices(element, id, "checkbox"),
  radio_buttons: (element, id) => choices(element, id, "radio"),
};

/** One input with its label; `id` is the block's, `action` the element's. */
export class Field {
  /** @param {any} block an input block */
  constructor(block) {
    const { element, label, hint, optional } = block;
    const id = `input-${block.block_id}`;
    Object.assign(this, { id: block.block_id, action: element.action_id, optional, element });
    this.made = (MADE[element.type] ?? plain)(element, id);
    this.error = el("p", { class: "field-error", id: `${id}-error`, role: "alert" });
    const name = el(this.made.grouped ? "legend" : "label", this.made.grouped ? {} : { for: id }, words(label));
    if (optional) name.append(el("span", { class: "quiet" }, " (optional)"));
    const kind = this.made.grouped ? "fieldset" : "div";
    const note = hint ? el("p", { class: "quiet" }, words(hint)) : null;
    this.node = el(kind, { class: "input" }, name, this.made.node, this.error, note);
  }

  /** What was filled in: a text, or a list of values. */
  value() {
    return this.made.read();
  }

  /** What Slack's client would say of it before it is sent; empty for nothing. */
  fault() {
    const value = this.value();
    if (!value.length) return this.optional ? "" : "Please complete this required field.";
    const least = this.element.min_length ?? 0;
    if (this.element.type !== "plain_text_input" || value.length >= least) return "";
    return `Must be at least ${least} characters long.`;
  }

  /** Say what is wrong with it; an empty text takes that back. @param {string} fault */
  say(fault) {
    this.error.textContent = fault;
    this.made.node.setAttribute("aria-invalid", String(Boolean(fault)));
    if (fault) this.made.node.setAttribute("aria-describedby", this.error.id);
    else this.made.node.removeAttribute("aria-describedby");
  }

  focus() {
    (this.made.node.querySelector("input") ?? this.made.node).focus();
  }
}

function text(element, id) {
  const shown = { id, dir: "auto", maxlength: element.max_length ?? LONGEST, placeholder: words(element.placeholder) };
  const node = element.multiline
    ? el("textarea", { ...shown, rows: 4 })
    : el("input", { ...shown, type: "text", autocomplete: "off" });
  node.value = element.initial_value ?? "";
  return { node, read: () => node.value };
}

/** Inputs of other kinds take the value itself. */
function plain(element, id) {
  return text({ ...element, multiline: false }, id);
}

function select(element, id) {
  const begun = element.initial_option?.value ?? "";
  const none = el("option", { value: "" }, words(element.placeholder) || "Select an option");
  const options = element.options.map(({ value, text: name }) =>
    el("option", { value, selected: value === begun }, words(name)),
  );
  const node = el("select", { id }, none, ...options);
  return { node, read: () => node.value };
}

function choices(element, id, type) {
  const begun = [element.initial_option, ...(element.initial_options ?? [])].map((each) => each?.value);
  const rows = element.options.map(({ value, text: name, description }) =>
    el(
      "label",
      { class: "choice" },
      el("input", { type, name: id, value, checked: begun.includes(value) }),
      el("span", {}, words(name), description ? el("span", { class: "quiet" }, ` ${words(description)}`) : null),
    ),
  );
  const node = el("div", { id, class: "choices" }, ...rows);
  const checked = () => [...node.querySelectorAll("input:checked")].map((each) => each.value);
  return { node, grouped: true, read: () => (type === "radio" ? (checked()[0] ?? "") : checked()) };
}

function words(text_) {
  return String(text_?.text ?? "");
}
