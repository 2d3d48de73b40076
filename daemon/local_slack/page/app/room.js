/** The open conversation: its header, its timeline or the app's home tab, and its composer. */

import { Composer } from "./composer.js";
import { el, icon, iconButton, KeyedList } from "./dom.js";
import { ICONS } from "./icons.js";
import { namesOf } from "./message.js";
import { avatar } from "./render/avatar.js";
import { viewBlocks } from "./render/blocks.js";
import { Scroller } from "./scroller.js";
import { timelineRows } from "./selectors.js";
import { welcome } from "./welcome.js";

export class Room {
  /**
   * @param {{header: HTMLElement, body: HTMLElement}} places
   * @param {import("./store.js").Store} store
   * @param {import("./actions.js").Actions} actions
   * @param {() => void} openMenu shows the list of conversations on a narrow screen
   */
  constructor({ header, body }, store, actions, openMenu) {
    Object.assign(this, { store, actions, openMenu });
    this.header = new KeyedList(header);
    this.scroller = new Scroller({ store, actions, inThread: false }, "Messages");
    this.composer = new Composer({
      id: "composer",
      people: () => peopleIn(store),
      commands: () => store.commands,
      send: async (text, files) => {
        const { channel } = store.view;
        this.scroller.atEnd = true;
        if (isCommand(text) && !files.length) return actions.command(channel, text);
        return actions.say(channel, text, { files: await actions.pack(files) });
      },
      editLast: () => this.#editLast(),
    });
    this.head = new KeyedList(this.scroller.head);
    this.hint = new KeyedList(el("div", { class: "room-hint" }));
    this.foot = el("div", { class: "room-foot" }, this.hint.parent, this.composer.root);
    this.home = new KeyedList(el("div", { class: "home", role: "region", "aria-label": "Home" }));
    body.append(this.scroller.root, this.home.parent, this.foot);
  }

  /** Show the store. */
  show() {
    const { store } = this;
    const { channel, view } = store;
    if (!channel) return;
    const name = store.titleOf(channel);
    this.#showHeader(channel, name);
    this.scroller.root.hidden = view.home;
    this.foot.hidden = view.home;
    this.home.parent.hidden = !view.home;
    if (view.home) this.#showHome();
    else this.#showTimeline(channel, name);
  }

  #showTimeline(channel, name) {
    const { store } = this;
    const loaded = store.messages.has(channel.id);
    const rows = loaded ? timelineRows(store) : [];
    this.head.show(loaded ? this.#beginning(channel, rows) : []);
    this.scroller.show(channel.id, rows);
    const sign = channel.kind === "channel" || channel.kind === "group" ? "#" : "";
    this.composer.turnTo(channel.id, `Message ${sign}${name}`);
    this.composer.enable(store.live && channel.is_member && !channel.is_archived);
    this.#showHint(channel, sign + name);
  }

  #beginning(channel, rows) {
    const { store, actions } = this;
    if (store.more.get(channel.id)) {
      const earlier = () => actions.load(channel.id, { earlier: true });
      return [
        {
          key: "more",
          signature: "",
          build: () =>
            el("button", { type: "button", class: "button earlier", on: { click: earlier } }, "Show earlier messages"),
        },
      ];
    }
    if (rows.length) return [];
    const signature = JSON.stringify([channel.id, channel.prompts, channel.members, channel.app_is_member]);
    return [{ key: "welcome", signature, build: () => welcome(store, (text) => actions.say(channel.id, text)) }];
  }

  #showHeader(channel, name) {
    const { store, view } = { store: this.store, view: this.store.view };
    const unread = [...store.channels.values()].some((room) => room.unread && room.id !== channel.id);
    const other = store.people.get(channel.user);
    const tabs = store.isSoulDm(channel);
    const facts = [channel.id, name, channel.members.length, channel.is_shared, other?.active, tabs, view.home, unread];
    this.header.show([
      {
        key: "header",
        signature: JSON.stringify(facts),
        build: () => this.#headerNode(channel, name, { other, tabs, unread }),
      },
    ]);
  }

  #headerNode(channel, name, { other, tabs, unread }) {
    const sign = { channel: ICONS.hash, group: ICONS.lock, mpim: ICONS.people }[channel.kind];
    const menu = iconButton(unread ? "Conversations, some unread" : "Conversations", ICONS.menu, this.openMenu, {
      class: unread ? "icon-button menu-button unread" : "icon-button menu-button",
    });
    return el(
      "div",
      { class: "header-line" },
      menu,
      sign ? icon(sign) : avatar(other, "small"),
      el("h1", {}, el("bdi", {}, name)),
      el(
        "span",
        { class: channel.kind === "im" && other?.active ? "quiet header-note present" : "quiet header-note" },
        this.#note(channel, other),
      ),
      tabs ? this.#tabs(channel) : null,
    );
  }

  #note(channel, other) {
    if (channel.kind === "im") return other?.active ? "active" : "away";
    const count = channel.members.length;
    return [count === 1 ? "1 member" : `${count} members`, channel.is_shared && "shared with another organisation"]
      .filter(Boolean)
      .join(" · ");
  }

  #tabs(channel) {
    const { store, actions } = this;
    const tab = (name, current, open) =>
      el(
        "button",
        {
          type: "button",
          class: "tab",
          "aria-current": current ? "page" : null,
          data: { focus: name },
          on: { click: open },
        },
        name,
      );
    return el(
      "div",
      { class: "tabs" },
      tab("Messages", !store.view.home, () => actions.open(channel.id)),
      tab("Home", store.view.home, () => actions.openHome()),
    );
  }

  #showHome() {
    const { homeView } = this.store;
    const press = (actionId) => this.actions.pressHome(actionId);
    const build = () =>
      el("div", {}, ...viewBlocks(homeView?.blocks ?? [], { names: namesOf(this.store), chosen: "", press }));
    this.home.show([{ key: "home", signature: JSON.stringify(homeView), build }]);
  }

  #showHint(channel, name) {
    const { store, actions } = this;
    const soul = store.nameOf(store.bot.id);
    let hint = null;
    if (channel.is_archived) hint = ["This channel is archived."];
    else if (!channel.is_member) hint = [`You are not in ${name} yet.`, "Join", () => actions.join(channel.id)];
    else if (!channel.app_is_member && channel.kind !== "im")
      hint = [`${soul} is not in ${name}.`, `Add ${soul}`, () => actions.invite(channel.id)];
    const build = ([text, label, act]) =>
      el("p", {}, text, label ? el("button", { type: "button", class: "button", on: { click: act } }, label) : null);
    this.hint.show(hint ? [{ key: channel.id + hint[0], signature: hint[0], build: () => build(hint) }] : []);
  }

  #editLast() {
    const { store } = this;
    const own = [...(store.messages.get(store.view.channel)?.values() ?? [])].filter(
      (message) => message.user === store.me.id && !message.subtype,
    );
    const last = own.filter((message) => !message.thread_ts || message.thread_ts === message.ts).at(-1);
    if (last) this.actions.startEditing(last.ts);
  }
}

/** Whether a text is a slash command, not a message; `/me` is one. @param {string} text */
export function isCommand(text) {
  return text.startsWith("/") && !text.startsWith("/me ");
}

/** The users to mention: the soul first, then members of the open conversation, then all others. */
export function peopleIn(store) {
  const members = new Set(store.channel?.members ?? []);
  const rank = (person) => (person.id === store.bot.id ? 0 : members.has(person.id) ? 1 : 2);
  const others = [...store.people.values()].filter(
    (person) => person.id !== store.me.id && person.standing !== "deactivated",
  );
  return others.sort((one, other) => rank(one) - rank(other));
}
