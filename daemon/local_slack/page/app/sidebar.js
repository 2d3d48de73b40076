/** The list of conversations, and the current user with a menu to switch. */

import { forNewTab } from "./api.js";
import { ClockMenu } from "./clock.js";
import { el, icon, KeyedList } from "./dom.js";
import { ICONS } from "./icons.js";
import { avatar } from "./render/avatar.js";
import { addressAs } from "./route.js";

const SIGNS = { channel: ICONS.hash, group: ICONS.lock, mpim: ICONS.people };

export class Sidebar {
  /**
   * @param {HTMLElement} root
   * @param {import("./store.js").Store} store
   * @param {import("./actions.js").Actions} actions
   */
  constructor(root, store, actions) {
    this.store = store;
    this.clock = new ClockMenu(store, actions);
    this.title = el("div", { class: "workspace" });
    this.rooms = new KeyedList(el("div", { class: "rooms" }));
    this.self = el("div", { class: "self" });
    this.switcher = new KeyedList(this.self);
    root.append(this.title, this.rooms.parent, this.clock.parent, this.self);
  }

  /** Show the store. */
  show() {
    const { store } = this;
    if (!store.me) return;
    this.title.replaceChildren(
      el("span", { class: "workspace-name" }, store.team.name),
      el("span", { class: "workspace-note" }, "on this computer"),
    );
    const all = [...store.channels.values()].filter((room) => !room.is_archived || room.is_member);
    this.rooms.show([
      ...this.#group(
        "Channels",
        all.filter((room) => room.kind === "channel" || room.kind === "group"),
      ),
      ...this.#group("Direct messages", this.#directMessages(all)),
      ...this.#group(
        "Group messages",
        all.filter((room) => room.kind === "mpim"),
      ),
    ]);
    this.clock.show();
    this.#showSelf();
  }

  #directMessages(all) {
    return all
      .filter((room) => room.kind === "im")
      .sort((one, other) => this.store.isSoulDm(other) - this.store.isSoulDm(one));
  }

  #group(name, rooms) {
    if (!rooms.length) return [];
    const heading = { key: name, signature: name, build: () => el("h2", {}, name) };
    return [heading, ...rooms.map((room) => this.#room(room))];
  }

  #room(room) {
    const { store } = this;
    const name = store.titleOf(room);
    const current = store.view.channel === room.id;
    const other = store.people.get(room.user);
    const away = room.kind === "im" && !other?.active;
    const facts = [name, room.unread, current, away, room.is_shared, room.is_member, room.is_archived];
    return {
      key: room.id,
      signature: JSON.stringify(facts),
      build: () => this.#link(room, { name, current, other, away }),
    };
  }

  #link(room, { name, current, other, away }) {
    const sign = room.kind === "im" ? avatar(other, "small") : icon(SIGNS[room.kind]);
    const kind = [
      "room-link",
      current && "current",
      room.unread && "unread",
      away && "away",
      !room.is_member && "outside",
    ];
    const label = room.unread ? `${name}, ${room.unread} unread` : name;
    return el(
      "a",
      {
        class: kind.filter(Boolean).join(" "),
        href: `#/${room.id}`,
        "aria-current": current ? "page" : null,
        "aria-label": label,
        data: { focus: room.id },
      },
      sign,
      el("bdi", { class: "room-name" }, name),
      room.is_shared
        ? el("span", { class: "shared", title: "Shared with another organisation" }, icon(ICONS.link))
        : null,
      room.unread ? el("span", { class: "count" }, String(room.unread)) : null,
    );
  }

  #showSelf() {
    const { me, people } = this.store;
    const users = [...people.values()].filter((person) => !person.is_bot && person.standing !== "deactivated");
    const signature = JSON.stringify([
      me.id,
      users.map((person) => [person.id, person.active, person.display_name]),
    ]);
    this.switcher.show([{ key: "self", signature, build: () => this.#switcher(me, users) }]);
  }

  #switcher(me, users) {
    const rows = users.map((person) => {
      const address = addressAs(person.id);
      const current = person.id === me.id ? "true" : null;
      const names = el(
        "span",
        { class: "names" },
        el("bdi", {}, person.real_name),
        el("span", { class: "quiet" }, standing(person)),
      );
      return el(
        "li",
        {},
        el("a", { href: address, class: "person", "aria-current": current }, avatar(person, "small"), names),
        el(
          "a",
          {
            href: forNewTab(address),
            target: "_blank",
            class: "icon-button",
            title: "Open in a new window",
            "aria-label": `${person.display_name} in a new window`,
          },
          icon(ICONS.window),
        ),
      );
    });
    const note = el("p", { class: "quiet" }, "You can act as any user. Each window can be a different one.");
    const menu = el(
      "div",
      { id: "people", class: "side-menu people-menu", popover: "auto" },
      el("h2", {}, "Act as"),
      el("ul", {}, ...rows),
      note,
    );
    const names = el(
      "span",
      { class: "names" },
      el("bdi", {}, me.real_name),
      el("span", { class: "quiet" }, "Switch user"),
    );
    const button = {
      type: "button",
      class: "self-button",
      popovertarget: "people",
      "aria-haspopup": "dialog",
      data: { focus: "self" },
    };
    return el("div", {}, el("button", button, avatar(me), names, icon(ICONS.swap)), menu);
  }
}

function standing(person) {
  const kinds = { guest: "guest", ultra_guest: "guest of one channel", stranger: "from another workspace" };
  return [kinds[person.standing] ?? "member", person.active && "active"].filter(Boolean).join(", ");
}
