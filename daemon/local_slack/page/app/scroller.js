/** A scrolling list of rows. At its end it follows new rows; elsewhere it keeps the position. */

import { el, icon, KeyedList } from "./dom.js";
import { ICONS } from "./icons.js";
import { messageNode, signature } from "./message.js";
import { dayName } from "./time.js";

const NEAR = 60;

export class Scroller {
  /** @param {import("./message.js").Setting} setting @param {string} label */
  constructor(setting, label) {
    this.setting = setting;
    this.head = el("div", { class: "rows-head" });
    const rows = el("div", { class: "rows", role: "log", "aria-label": label, "aria-live": "polite" });
    this.list = new KeyedList(rows);
    this.box = el("div", { class: "scroller", tabindex: -1 }, this.head, rows);
    const down = el(
      "button",
      { type: "button", class: "to-end", hidden: true, on: { click: () => this.toEnd() } },
      icon(ICONS.arrowDown),
      "Latest messages",
    );
    this.down = down;
    this.root = el("div", { class: "scroller-frame" }, this.box, down);
    this.atEnd = true;
    this.place = "";
    this.box.addEventListener("scroll", () => this.#look(), { passive: true });
    rows.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.atEnd && this.toEnd()).observe(this.box);
  }

  /** Show rows; another place starts at its end. @param {string} place @param {import("./selectors.js").Row[]} rows */
  show(place, rows) {
    const before = this.box.scrollHeight - this.box.scrollTop;
    const first = this.list.parent.firstElementChild;
    if (place !== this.place) this.atEnd = true;
    this.place = place;
    this.list.show(rows.map((row) => this.#item(row)));
    const grewAbove = first?.isConnected && this.list.parent.firstElementChild !== first;
    if (this.atEnd) this.toEnd();
    else if (grewAbove) this.box.scrollTop = this.box.scrollHeight - before;
    this.#tabStop();
    this.#look();
  }

  /** Scroll to the newest row. */
  toEnd() {
    this.box.scrollTop = this.box.scrollHeight;
    this.atEnd = true;
  }

  #item(row) {
    const { key } = row;
    if (row.type === "day") return { key, signature: dayName(row.message.ts), build: () => day(row.message.ts) };
    if (row.type === "replies") return { key, signature: String(row.count), build: () => replies(row.count) };
    if (row.type === "status")
      return { key, signature: JSON.stringify([row.line, row.nested]), build: () => this.#status(row) };
    if (row.type === "stop") return { key, signature: String(row.nested), build: () => this.#stop(row) };
    return { key, signature: signature(row, this.setting), build: () => messageNode(row, this.setting) };
  }

  #status({ line, nested }) {
    const { store } = this.setting;
    const text = line.loading_messages?.[0] || `${store.nameOf(store.bot.id)} ${line.status}`;
    const dots = el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
    return el("div", { class: nested ? "status nested" : "status", role: "status" }, dots, el("span", {}, text));
  }

  #stop({ channel, thread, nested }) {
    const stop = () => this.setting.actions.stop(channel, thread);
    const name = this.setting.store.nameOf(this.setting.store.bot.id);
    const button = el("button", { type: "button", class: "stop", "aria-label": `Stop ${name}`, on: { click: stop } }, "Stop");
    return el("div", { class: nested ? "at-work nested" : "at-work" }, button);
  }

  #look() {
    const { scrollHeight, scrollTop, clientHeight } = this.box;
    this.atEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    this.down.hidden = this.atEnd;
  }

  #tabStop() {
    const messages = this.list.parent.querySelectorAll(".message");
    messages.forEach((node, at) => node.setAttribute("tabindex", at === messages.length - 1 ? "0" : "-1"));
  }

  #key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || !event.target.classList.contains("message")) return;
    const messages = [...this.list.parent.querySelectorAll(".message")];
    messages[messages.indexOf(event.target) + step]?.focus();
    event.preventDefault();
  }
}

function day(ts) {
  return el("div", { class: "day", role: "separator" }, el("span", {}, dayName(ts)));
}

function replies(count) {
  return el("div", { class: "replies-line" }, el("span", {}, count === 1 ? "1 reply" : `${count} replies`));
}
