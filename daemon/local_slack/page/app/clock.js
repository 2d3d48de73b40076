/** The workspace's time, and a menu that moves it forward. */

import { el, icon, KeyedList } from "./dom.js";
import { ICONS } from "./icons.js";
import { dayAndTime, nextMorning, now } from "./time.js";

const HOUR = 3600;
const EVERY = 20_000;

export class ClockMenu {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./actions.js").Actions} actions
   */
  constructor(store, actions) {
    Object.assign(this, { store, actions });
    this.list = new KeyedList(el("div", { class: "clock" }));
    this.parent = this.list.parent;
    setInterval(() => this.show(), EVERY);
  }

  /** Show the workspace's time. */
  show() {
    const time = dayAndTime();
    this.list.show([{ key: "clock", signature: time, build: () => this.#build(time) }]);
  }

  #build(time) {
    const button = {
      type: "button",
      class: "clock-button",
      popovertarget: "clock-menu",
      "aria-haspopup": "dialog",
      "aria-label": `The workspace's time: ${time}`,
      data: { focus: "clock" },
    };
    return el("div", {}, el("button", button, icon(ICONS.clock), el("span", {}, time)), this.#menu());
  }

  #menu() {
    const choices = [
      ["In an hour", () => HOUR],
      ["Tomorrow at nine", () => (nextMorning() - now()) / 1000],
      ["In a week", () => 7 * 24 * HOUR],
    ];
    return el(
      "div",
      { id: "clock-menu", class: "side-menu clock-menu", popover: "auto" },
      el("h2", {}, "Move the time forward"),
      el("ul", {}, ...choices.map(([name, seconds]) => el("li", {}, this.#choice(name, seconds)))),
      el("p", { class: "quiet" }, "The soul lives by this clock: visits end, reminders fall due, nights pass."),
    );
  }

  #choice(name, seconds) {
    const press = () => {
      document.getElementById("clock-menu").hidePopover();
      this.actions.moveClock(seconds());
    };
    return el("button", { type: "button", class: "choice", on: { click: press } }, name);
  }
}
