/** Completes `@names` in a text box: a list above it, used with the arrow keys (WAI-ARIA: combobox with list). */

import { el } from "./dom.js";
import { avatar } from "./render/avatar.js";

const BEGUN = /(?:^|[\s(])@([\p{L}\p{N}._-]{0,30})$/u;
const MOST = 8;

export class Completion {
  /**
   * @param {HTMLTextAreaElement} box
   * @param {HTMLElement} list an empty element above the box
   * @param {() => any[]} people the users to offer, likeliest first
   */
  constructor(box, list, people) {
    Object.assign(this, { box, list, people });
    this.found = [];
    this.at = 0;
    list.id = `names-${box.id}`;
    for (const [name, value] of Object.entries({ role: "listbox", "aria-label": "People", hidden: "" })) {
      list.setAttribute(name, value);
    }
    box.setAttribute("aria-autocomplete", "list");
    box.setAttribute("aria-controls", list.id);
    box.addEventListener("input", () => this.look());
    box.addEventListener("blur", () => this.close());
  }

  /** Offer the users that match the text before the caret. */
  look() {
    const begun = BEGUN.exec(this.box.value.slice(0, this.box.selectionStart))?.[1];
    this.found =
      begun === undefined
        ? []
        : this.people()
            .filter((each) => fits(each, begun))
            .slice(0, MOST);
    if (this.found.length === 1 && this.found[0].display_name.toLowerCase() === begun.toLowerCase()) this.found = [];
    this.at = 0;
    this.#show();
  }

  /** Close the list. */
  close() {
    this.found = [];
    this.#show();
  }

  /** Handle a key; true when the list used it. @param {KeyboardEvent} event */
  takes(event) {
    if (!this.found.length) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.at = (this.at + step + this.found.length) % this.found.length;
      this.#show();
    } else if (event.key === "Enter" || event.key === "Tab") this.#choose(this.found[this.at]);
    else if (event.key === "Escape") this.close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #choose(person) {
    const caret = this.box.selectionStart;
    const start = this.box.value.lastIndexOf("@", caret - 1);
    this.box.setRangeText(`@${person.display_name} `, start, caret, "end");
    this.close();
    this.box.focus();
    this.box.dispatchEvent(new Event("input"));
  }

  #show() {
    this.list.hidden = !this.found.length;
    this.list.replaceChildren(
      ...this.found.map((person, at) => {
        const choose = (event) => {
          event.preventDefault();
          this.#choose(person);
        };
        const attributes = { id: `${this.list.id}-${at}`, role: "option", "aria-selected": String(at === this.at) };
        const real = person.real_name === person.display_name ? "" : person.real_name;
        const names = [el("bdi", { class: "name" }, person.display_name), el("bdi", { class: "quiet" }, real)];
        return el("div", { ...attributes, on: { mousedown: choose } }, avatar(person, "small"), ...names);
      }),
    );
    if (this.found.length) this.box.setAttribute("aria-activedescendant", `${this.list.id}-${this.at}`);
    else this.box.removeAttribute("aria-activedescendant");
  }
}

function fits(person, begun) {
  const wanted = begun.toLowerCase();
  return [person.display_name, person.real_name, person.name].some((name) => name.toLowerCase().startsWith(wanted));
}
