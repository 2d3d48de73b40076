/** What the page tells people besides messages: a line at the top while something is wrong, and brief notes. */

import { el, KeyedList } from "./dom.js";

const SHOWN_FOR = 6_000;

export class Notices {
  /** @param {import("./store.js").Store} store @param {HTMLElement} banners @param {HTMLElement} toasts */
  constructor(store, banners, toasts) {
    this.store = store;
    this.toasts = toasts;
    this.banners = new KeyedList(banners);
  }

  /** Say something briefly. @param {string} text */
  tell(text) {
    const note = el("div", { class: "toast" }, text);
    this.toasts.append(note);
    setTimeout(() => note.remove(), SHOWN_FOR);
  }

  /** Show the lines that fit the store. */
  show() {
    const { live, everLive, bot } = this.store;
    const lines = [];
    if (everLive && !live) lines.push(["lost", "The connection to the workspace is lost. Trying again…"]);
    else if (bot && !bot.active) lines.push(["absent", absent(this.store.nameOf(bot.id))]);
    this.banners.show(
      lines.map(([kind, text]) => ({
        key: kind,
        signature: text,
        build: () => el("p", { class: `banner ${kind}` }, text),
      })),
    );
  }
}

function absent(name) {
  return `${name} is not connected. What you write is kept and reaches it when it is back.`;
}
