/** The message box: Enter sends, Shift+Enter breaks the line, and drafts are kept per conversation. */

import { Completion, names, slashes } from "./completion.js";
import { el, icon, iconButton } from "./dom.js";
import { ICONS } from "./icons.js";

const TALLEST = 240;

export class Composer {
  /**
   * @param {object} parts
   * @param {string} parts.id of the text box
   * @param {() => any[]} parts.people the users to mention
   * @param {() => any[]} [parts.commands] the slash commands to type
   * @param {(text: string, files: File[]) => Promise<unknown>} parts.send gives a false value when it failed
   * @param {() => void} [parts.editLast] called for an arrow up in the empty box
   */
  constructor({ id, people, commands = () => [], send, editLast = () => {} }) {
    Object.assign(this, { send, editLast });
    this.place = "";
    this.drafts = new Map();
    this.box = el("textarea", { id, rows: 1, dir: "auto", readonly: true, enterkeyhint: "send", autocomplete: "off" });
    this.names = el("div", { class: "completion" });
    this.chosen = el("div", { class: "chosen-files" });
    this.button = iconButton("Send", ICONS.send, () => this.submit(), { class: "icon-button send" });
    this.picker = el("input", { type: "file", multiple: true, hidden: true, "aria-hidden": "true", tabindex: -1 });
    this.tools = [
      iconButton("Attach files", ICONS.attach, () => this.picker.click()),
      iconButton("Mention a user", ICONS.at, () => this.#mention()),
    ];
    this.hint = el(
      "span",
      { class: "hint" },
      el("kbd", {}, "Enter"),
      " sends, ",
      el("kbd", {}, "Shift Enter"),
      " for a new line",
    );
    const bar = el("div", { class: "composer-bar" }, ...this.tools, this.picker, this.hint, this.button);
    this.root = el("div", { class: "composer" }, this.names, this.box, this.chosen, bar);
    this.completion = new Completion(this.box, this.names, [names(people), slashes(commands)]);
    this.files = [];
    this.able = false;
    this.#listen();
    this.#fit();
  }

  /** Switch to a conversation; the draft of the previous one is kept. */
  turnTo(place, placeholder) {
    this.box.placeholder = placeholder;
    this.box.setAttribute("aria-label", placeholder);
    if (place === this.place) return;
    this.drafts.set(this.place, this.box.value);
    this.place = place;
    this.files = [];
    this.#write(this.drafts.get(place) ?? "");
  }

  /** Allow or forbid writing. @param {boolean} able */
  enable(able) {
    if (this.box.readOnly === able) this.box.readOnly = !able;
    this.root.classList.toggle("disabled", !able);
    this.box.setAttribute("aria-disabled", String(!able));
    for (const tool of this.tools) tool.disabled = !able;
    this.able = able;
    this.button.disabled = !able || !this.#ready();
  }

  /** Focus the box, on devices with a real keyboard only. */
  focus({ always = false } = {}) {
    if (always || matchMedia("(pointer: fine)").matches) this.box.focus({ preventScroll: true });
  }

  /** Whether the box has a draft. */
  get busy() {
    return this.#ready();
  }

  /** Send the draft; restore it when sending fails. */
  async submit() {
    if (!this.able || !this.#ready()) return;
    const { place, files } = this;
    const text = this.box.value;
    this.files = [];
    this.#write("");
    if (await this.send(text, files)) return;
    if (this.place === place && !this.#ready()) {
      this.files = files;
      this.#write(text);
    } else this.drafts.set(place, text);
  }

  #listen() {
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.box.addEventListener("input", () => this.#fit());
    this.picker.addEventListener("change", () => {
      this.files = this.files.concat([...this.picker.files]);
      this.picker.value = "";
      this.#fit();
      this.box.focus();
    });
    this.box.addEventListener("paste", (event) => {
      const pasted = [...(event.clipboardData?.files ?? [])];
      if (!pasted.length) return;
      event.preventDefault();
      this.files = this.files.concat(pasted);
      this.#fit();
    });
  }

  #key(event) {
    if (event.isComposing || this.completion.takes(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    } else if (event.key === "ArrowUp" && !this.box.value) {
      event.preventDefault();
      this.editLast();
    }
  }

  #mention() {
    const { box } = this;
    const gap = box.selectionStart && !/\s$/.test(box.value.slice(0, box.selectionStart)) ? " @" : "@";
    box.setRangeText(gap, box.selectionStart, box.selectionEnd, "end");
    box.focus();
    box.dispatchEvent(new Event("input"));
  }

  #ready() {
    return Boolean(this.box.value.trim() || this.files.length);
  }

  #write(text) {
    this.box.value = text;
    this.completion.close();
    this.#fit();
  }

  #fit() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, TALLEST)}px`;
    this.button.disabled = !this.able || !this.#ready();
    this.chosen.replaceChildren(...this.files.map((file) => this.#chip(file)));
  }

  #chip(file) {
    const drop = () => {
      this.files = this.files.filter((each) => each !== file);
      this.#fit();
      this.box.focus();
    };
    const name = el("bdi", {}, file.name);
    return el(
      "span",
      { class: "file" },
      icon(ICONS.file),
      name,
      iconButton(`Remove ${file.name}`, ICONS.close, drop),
    );
  }
}
