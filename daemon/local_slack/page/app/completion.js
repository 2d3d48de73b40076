/** Completes names and commands in a text box: a list above it, used with the arrow keys (WAI-ARIA: combobox with list). */

import { el } from "./dom.js";
import { avatar } from "./render/avatar.js";

const NAME_BEGUN = /(?:^|[\s(])(@[\p{L}\p{N}._-]{0,30})$/u;
const COMMAND_BEGUN = /^(\/[\p{L}\p{N}_-]{0,30})$/u;
const MOST = 8;

/**
 * @typedef {object} Source
 * @property {RegExp} begun matches what may be completed, at the end of the text before the caret
 * @property {(begun: string) => any[]} found what fits, likeliest first
 * @property {(one: any) => string} text what takes the place of what was begun
 * @property {(one: any) => (Node | string)[]} shown the content of a row
 */

/** Completes `@names`. @param {() => any[]} people the users to offer, likeliest first @returns {Source} */
export function names(people) {
  return {
    begun: NAME_BEGUN,
    found: (begun) => people().filter((each) => fits(each, begun.slice(1))),
    text: (person) => `@${person.display_name}`,
    shown: (person) => {
      const real = person.real_name === person.display_name ? "" : person.real_name;
      const both = [el("bdi", { class: "name" }, person.display_name), el("bdi", { class: "quiet" }, real)];
      return [avatar(person, "small"), ...both];
    },
  };
}

/** Completes `/commands`. @param {() => any[]} commands those of the app @returns {Source} */
export function slashes(commands) {
  return {
    begun: COMMAND_BEGUN,
    found: (begun) => commands().filter(({ command }) => command.startsWith(begun.toLowerCase())),
    text: ({ command }) => command,
    shown: ({ command, description, usage_hint: usage }) => [
      el("span", { class: "name" }, `${command} ${usage}`),
      el("span", { class: "quiet" }, description),
    ],
  };
}

export class Completion {
  /**
   * @param {HTMLTextAreaElement} box
   * @param {HTMLElement} list an empty element above the box
   * @param {Source[]} sources what can be completed
   */
  constructor(box, list, sources) {
    Object.assign(this, { box, list, sources });
    this.source = sources[0];
    this.begun = "";
    this.found = [];
    this.at = 0;
    list.id = `names-${box.id}`;
    for (const [name, value] of Object.entries({ role: "listbox", "aria-label": "Suggestions", hidden: "" })) {
      list.setAttribute(name, value);
    }
    box.setAttribute("aria-autocomplete", "list");
    box.setAttribute("aria-controls", list.id);
    box.addEventListener("input", () => this.look());
    box.addEventListener("blur", () => this.close());
  }

  /** Offer what fits the text before the caret. */
  look() {
    const before = this.box.value.slice(0, this.box.selectionStart);
    this.found = [];
    for (const source of this.sources) {
      const begun = source.begun.exec(before)?.[1];
      if (begun !== undefined) Object.assign(this, { source, begun, found: source.found(begun).slice(0, MOST) });
    }
    const [only, more] = this.found;
    if (only && !more && this.source.text(only).toLowerCase() === this.begun.toLowerCase()) this.found = [];
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

  #choose(one) {
    const caret = this.box.selectionStart;
    this.box.setRangeText(`${this.source.text(one)} `, caret - this.begun.length, caret, "end");
    this.close();
    this.box.focus();
    this.box.dispatchEvent(new Event("input"));
  }

  #show() {
    this.list.hidden = !this.found.length;
    this.list.replaceChildren(
      ...this.found.map((one, at) => {
        const choose = (event) => {
          event.preventDefault();
          this.#choose(one);
        };
        const attributes = { id: `${this.list.id}-${at}`, role: "option", "aria-selected": String(at === this.at) };
        return el("div", { ...attributes, on: { mousedown: choose } }, ...this.source.shown(one));
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
