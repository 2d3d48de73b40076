/** Connects the parts of the page: its user, the store, the views, and the event stream that changes the store. */

import { Actions } from "./actions.js";
import { Api, takeKey } from "./api.js";
import { Dialogs } from "./dialogs.js";
import { el } from "./dom.js";
import { Feed } from "./feed.js";
import { fold } from "./fold.js";
import { Notices } from "./notices.js";
import { Room } from "./room.js";
import { goTo, nameInAddress, personInAddress, viewInAddress } from "./route.js";
import { Sidebar } from "./sidebar.js";
import { Store } from "./store.js";
import { Thread } from "./thread.js";

const WIDE = "(min-width: 60rem)";
const byId = (id) => document.getElementById(id);

/** The id of the user in the URL, or of the first user. */
async function currentUser() {
  const { people } = await new Api().get("state");
  const named = people.find((person) => person.id === personInAddress() && !person.is_bot);
  const chosen = named ?? people.find((person) => !person.is_bot && person.standing !== "deactivated");
  if (chosen.id !== personInAddress()) nameInAddress(chosen.id);
  return chosen.id;
}

class Page {
  constructor(person) {
    this.store = new Store();
    this.api = new Api(person);
    this.notices = new Notices(this.store, byId("banners"), byId("toasts"));
    this.actions = new Actions(this.store, this.api, (text) => this.notices.toast(text));
    this.sidebar = new Sidebar(byId("sidebar"), this.store, this.actions);
    const places = { header: byId("room-header"), body: byId("room-body") };
    this.room = new Room(places, this.store, this.actions, () => this.showMenu(true));
    this.thread = new Thread(byId("thread"), this.store, this.actions);
    this.dialogs = new Dialogs(byId("dialogs"), this.store, this.actions);
    this.store.subscribe(() => this.show());
    byId("scrim").addEventListener("click", () => this.showMenu(false));
    addEventListener("hashchange", () => this.follow());
    addEventListener("visibilitychange", () => this.readHere());
    addEventListener("keydown", (event) => event.key === "Escape" && this.showMenu(false));
  }

  /** Load, then follow the changes. Ends where the key is none. */
  run() {
    const feed = new Feed({
      open: (after, signal) => this.api.open("events", { after }, signal),
      load: () => this.load(),
      change: (kind, data) => this.change(kind, data),
      live: (live) => this.setLive(live),
    });
    return feed.run();
  }

  /** Read all that is shown; gives the cursor after which changes have to be followed. */
  async load() {
    const cursor = await this.actions.refresh();
    const first = !this.store.view.channel;
    this.look();
    this.store.messages.clear();
    await this.actions.load(this.store.view.channel);
    this.store.homeView = (await this.api.get("home")).view;
    if (first) await this.api.post("open_dm");
    this.readHere();
    return cursor;
  }

  /** Apply one change of the event stream. */
  change(kind, data) {
    if (kind === "channel" || kind === "person") this.actions.refresh().catch(() => {});
    fold(this.store, kind, data);
    if (kind === "message") this.onMessage(data.message);
  }

  /** A new message is marked read if it is shown; the soul's reply to this user's message opens the thread. */
  onMessage(message) {
    const { store } = this;
    const here = message.channel === store.view.channel;
    if (here && message.user !== store.me.id) this.readHere();
    const answersMe = message.parent_user_id === store.me.id && message.user === store.bot.id;
    const elsewhere = store.view.thread && this.thread.composer.busy;
    if (!here || !answersMe || store.channel.kind === "im" || store.view.thread === message.thread_ts || elsewhere)
      return;
    if (matchMedia(WIDE).matches) this.actions.openThread(message.thread_ts);
  }

  /** Show the view of the changed URL. */
  async follow() {
    const before = { ...this.store.view };
    this.look();
    const { channel, thread } = this.store.view;
    this.showMenu(false);
    if (!this.store.messages.has(channel)) await this.actions.load(channel).catch(() => {});
    this.readHere();
    if (thread && !before.thread && document.activeElement?.closest(".message")) this.thread.composer.focus();
    if (channel !== before.channel || (before.thread && !thread)) this.room.composer.focus();
  }

  /** Take the view from the URL; an unknown one becomes the DM with the soul. */
  look() {
    const { store } = this;
    const view = viewInAddress();
    if (store.channels.has(view.channel)) store.view = view;
    else store.view = { channel: store.dm?.id ?? [...store.channels.keys()][0], thread: "", home: false };
    if (view.channel && view.channel !== store.view.channel) goTo(store.view.channel);
    store.changed();
  }

  /** The event stream opened or closed. */
  setLive(live) {
    const first = live && !this.store.everLive;
    this.store.live = live;
    this.store.everLive ||= live;
    this.store.changed();
    if (first) queueMicrotask(() => this.room.composer.focus());
  }

  readHere() {
    const { channel, home } = this.store.view;
    if (channel && !home && document.visibilityState === "visible") this.actions.read(channel);
  }

  showMenu(open) {
    document.body.classList.toggle("menu-open", open);
    if (open) byId("sidebar").querySelector("a")?.focus();
  }

  show() {
    const { store } = this;
    if (!store.channel) return;
    this.sidebar.show();
    this.notices.show();
    this.room.show();
    this.thread.show();
    this.dialogs.show();
    const unread = [...store.channels.values()].reduce((sum, room) => sum + (room.unread ?? 0), 0);
    const news = unread ? `(${unread}) ` : "";
    document.title = `${news}${store.titleOf(store.channel)} – ${store.nameOf(store.me.id)}, ${store.team.name}`;
  }
}

takeKey();
try {
  await new Page(await currentUser()).run();
} catch (fault) {
  if (fault.code !== "no_key") throw fault;
  document.body.replaceChildren(el("p", { class: "locked" }, `This workspace is locked: ${fault.message}.`));
}
