/** Banners while a connection is missing, and short toasts. */

import { el, KeyedList } from "./dom.js";

const SHOWN_FOR = 6_000;

export class Notices {
  /** @param {import("./store.js").Store} store @param {HTMLElement} banners @param {HTMLElement} toasts */
  constructor(store, banners, toasts) {
    this.store = store;
    this.toasts = toasts;
    this.banners = new KeyedList(banners);
  }

  /** Show a short note. @param {string} text */
  toast(text) {
    const note = el("div", { class: "toast" }, text);
    this.toasts.append(note);
    setTimeout(() => note.remove(), SHOWN_FOR);
  }

  /** Show the banners for the store's state. */
  show() {
    const { live, everLive, bot } = this.store;
    const lines = [];
    if (everLive && !live) lines.push(["lost", "The connection to the workspace is lost. Trying again… (If it was started anew, open the address that it printed.)"]);
    else if (bot && !bot.active) lines.push(["absent", notConnected(this.store.nameOf(bot.id))]);
    this.banners.show(
      lines.map(([kind, text]) => ({
        key: kind,
        signature: text,
        build: () => el("p", { class: `banner ${kind}` }, text),
      })),
    );
  }
}

function notConnected(name) {
  return `${name} is not connected. It gets your messages when it is connected again.`;
}
