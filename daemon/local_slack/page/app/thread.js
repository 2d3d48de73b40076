/** The right pane: one thread with its own composer. */

import { Composer } from "./composer.js";
import { el, iconButton } from "./dom.js";
import { ICONS } from "./icons.js";
import { isCommand, peopleIn } from "./room.js";
import { Scroller } from "./scroller.js";
import { threadRows } from "./selectors.js";

export class Thread {
  /**
   * @param {HTMLElement} root
   * @param {import("./store.js").Store} store
   * @param {import("./actions.js").Actions} actions
   */
  constructor(root, store, actions) {
    Object.assign(this, { root, store, actions });
    this.scroller = new Scroller({ store, actions, inThread: true }, "Thread");
    this.note = el("span", { class: "quiet header-note" });
    this.title = el("bdi", { class: "session-title" });
    const close = iconButton("Close the thread", ICONS.close, () => this.close());
    const header = el(
      "header",
      { class: "room-header" },
      el("div", { class: "header-line" }, el("h2", {}, "Thread"), this.note, this.title, close),
    );
    this.composer = new Composer({
      id: "thread-composer",
      people: () => peopleIn(store),
      send: async (text, files) => {
        const { channel, thread } = store.view;
        this.scroller.atEnd = true;
        if (isCommand(text)) return this.#noCommands(text);
        return actions.say(channel, text, { thread, files: await actions.pack(files) });
      },
    });
    root.append(header, this.scroller.root, el("div", { class: "room-foot" }, this.composer.root));
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) this.close();
    });
  }

  /** Show the store. */
  show() {
    const { store } = this;
    const { channel, thread } = store.view;
    this.root.hidden = !thread || !store.channel;
    document.body.classList.toggle("with-thread", !this.root.hidden);
    if (this.root.hidden) return;
    const sign = ["channel", "group"].includes(store.channel.kind) ? "#" : "";
    this.note.textContent = `${sign}${store.titleOf(store.channel)}`;
    this.title.textContent = store.sessions.get(`${channel}/${thread}`)?.title ?? "";
    this.scroller.show(`${channel}/${thread}`, threadRows(store));
    this.composer.turnTo(`${channel}/${thread}`, "Reply…");
    this.composer.enable(store.live && store.channel.is_member && !store.channel.is_archived);
  }

  #noCommands(text) {
    this.actions.notify(`${text.split(/\s/)[0]} is not supported in threads. Sorry!`);
    return false;
  }

  /** Go back to the conversation alone. */
  close() {
    this.actions.openThread("");
  }
}
