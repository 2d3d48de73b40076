/** The app's open dialog above the page (Slack: modals): its blocks and inputs, and what becomes of what was sent. */

import { el, iconButton } from "./dom.js";
import { ICONS } from "./icons.js";
import { namesOf } from "./message.js";
import { viewBlocks } from "./render/blocks.js";
import { Field } from "./render/inputs.js";

const ANSWERED_WITHIN = 3_000; // milliseconds, as Slack's
const TROUBLE = "We had some trouble connecting. Try again?";

export class Dialogs {
  /**
   * @param {HTMLElement} root
   * @param {import("./store.js").Store} store
   * @param {import("./actions.js").Actions} actions
   */
  constructor(root, store, actions) {
    Object.assign(this, { root, store, actions });
    this.drawn = null;
    this.open = null;
  }

  /** Show the newest open dialog; what was typed into it stays while only its errors change. */
  show() {
    const newest = [...this.store.dialogs.values()].at(-1);
    if (newest === this.open) return;
    this.open = newest;
    const version = newest ? `${newest.view.id} ${newest.view.hash}` : "";
    if (version !== this.drawn?.version) this.#draw(newest?.view, version);
    if (newest) this.drawn.say(newest.errors, newest.trouble);
  }

  #draw(view, version) {
    this.drawn?.node.remove();
    this.drawn = view ? new OpenDialog(view, version, this.store, this.actions) : null;
    if (!view) return;
    this.root.append(this.drawn.node);
    this.drawn.node.showModal();
  }
}

class OpenDialog {
  constructor(view, version, store, actions) {
    Object.assign(this, { view, version, actions });
    this.fields = [];
    this.note = el("p", { class: "dialog-trouble", role: "alert" });
    this.send = view.submit ? el("button", { type: "submit", class: "button primary" }, view.submit.text) : null;
    const label = view.title?.text ?? "";
    const close = () => actions.closeDialog(view.id);
    const end = el("button", { type: "button", class: "button", on: { click: close } }, view.close?.text ?? "Close");
    const form = el(
      "form",
      { novalidate: true, on: { submit: (event) => this.#submit(event) } },
      el("header", {}, el("h2", {}, el("bdi", {}, label)), iconButton("Close the dialog", ICONS.close, close)),
      el("div", { class: "dialog-body" }, ...this.#content(store)),
      this.note,
      el("footer", {}, end, this.send),
    );
    this.node = el("dialog", { class: "dialog", "aria-label": label }, form);
    this.node.addEventListener("cancel", (event) => {
      event.preventDefault();
      close();
    });
  }

  /** Say what is wrong: below each input, and for the whole. */
  say(errors, trouble) {
    clearTimeout(this.waiting);
    for (const field of this.fields) field.say(errors[field.id] ?? "");
    this.note.textContent = trouble;
    if (this.send) this.send.disabled = false;
    this.fields.find((field) => errors[field.id])?.focus();
  }

  #content(store) {
    const setting = { names: namesOf(store), chosen: "", press: () => {} };
    return this.view.blocks.flatMap((block) => {
      if (block.type !== "input") return viewBlocks([block], setting);
      const field = new Field(block);
      this.fields.push(field);
      return [field.node];
    });
  }

  async #submit(event) {
    event.preventDefault();
    if (this.send?.disabled) return;
    const faults = Object.fromEntries(this.fields.map((field) => [field.id, field.fault()]));
    this.say(faults, "");
    if (Object.values(faults).some(Boolean)) return;
    this.send.disabled = true;
    const values = Object.fromEntries(this.fields.map((field) => [field.action, field.value()]));
    if (await this.actions.submit(this.view.id, values)) {
      this.waiting = setTimeout(() => this.node.isConnected && this.say({}, TROUBLE), ANSWERED_WITHIN);
    } else this.say({}, TROUBLE);
  }
}
