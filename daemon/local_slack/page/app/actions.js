/** What a person does: each method asks the workspace, and tells the person when it says no. */

import { goTo } from "./route.js";

const FIRST_PAGE = 300;
const LARGEST_FILE = 8 * 1024 * 1024;

export class Actions {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./api.js").Api} api
   * @param {(text: string) => void} tell
   */
  constructor(store, api, tell) {
    Object.assign(this, { store, api, tell });
    this.limits = new Map();
    this.speaking = Promise.resolve();
  }

  /** Post words and files, one after the other in the order they were sent; false when that failed. */
  say(channel, text, { thread = "", files = [] } = {}) {
    const said = this.speaking.then(() => this.#try("say", { channel, text, thread, files }));
    this.speaking = said;
    return said;
  }

  /** Change one's own words; false when that failed. */
  async edit({ channel, ts }, text) {
    const done = text.trim() ? await this.#try("edit", { channel, ts, text }) : true;
    if (done) this.startEditing("");
    return done;
  }

  /** Take back one's own message. */
  async remove({ channel, ts }) {
    await this.#try("delete", { channel, ts });
  }

  /** Add one's reaction, or take it back when it is there. */
  async react(message, name) {
    const mine = message.reactions?.find((each) => each.name === name)?.users.includes(this.store.me.id);
    await this.#try("react", { channel: message.channel, ts: message.ts, name, remove: Boolean(mine) });
  }

  /** Press a button of a message; a choice of feedback is shown when it has reached the app. */
  async press(message, actionId, value) {
    const key = `${message.channel}/${message.ts}/${actionId}`;
    const before = this.store.choices.get(key);
    this.#choose(key, value);
    const answer = await this.#try("click", { channel: message.channel, ts: message.ts, action_id: actionId, value });
    if (answer?.delivered) return;
    this.#choose(key, before);
    if (answer) this.tell("That did not arrive: the soul is not connected.");
  }

  /** Become a member of a channel. */
  async join(channel) {
    await this.#try("join", { channel });
    await this.refresh();
  }

  /** Let the soul into a channel. */
  async invite(channel) {
    await this.#try("join", { channel, person: this.store.bot.id, inviter: this.store.me.id });
    await this.refresh();
  }

  /** Look at a conversation. */
  open(channel) {
    goTo(channel);
  }

  /** Look at the app's home. */
  async openHome() {
    goTo(this.store.dm.id, "home");
    const answer = await this.#try("open_home", {});
    if (answer?.view) this.store.homeView = answer.view;
    this.store.changed();
  }

  /** Look at a thread of the open conversation, or at none. */
  openThread(thread) {
    goTo(this.store.view.channel, thread);
  }

  /** Begin to edit a message, or stop. @param {string} ts */
  startEditing(ts) {
    this.store.editing = ts;
    this.store.changed();
  }

  /** All that was said here has been seen. */
  async read(channel) {
    const room = this.store.channels.get(channel);
    if (!room?.is_member) return;
    room.unread = 0;
    this.store.changed();
    await this.api.post("read", { channel }).catch(() => {});
  }

  /** Read people, channels and statuses anew; gives the cursor they were read at. */
  async refresh() {
    const state = await this.api.get("state");
    this.store.takeState(state);
    return state.cursor;
  }

  /** Read a conversation's messages, further back each time when `earlier`. */
  async load(channel, { earlier = false } = {}) {
    const limit = (this.limits.get(channel) ?? FIRST_PAGE) * (earlier ? 3 : 1);
    this.limits.set(channel, limit);
    const [stored, whispered] = await Promise.all([
      this.api.get("messages", { channel, thread: "*", limit: String(limit) }),
      this.api.get("messages", { channel, limit: "0" }), // what only this person sees, in threads and outside
    ]);
    this.store.takeMessages(channel, { ...stored, ephemerals: whispered.ephemerals });
  }

  /**
   * Files as the workspace takes them; those that are too large are left out, and that is told.
   * @param {File[]} files
   */
  async pack(files) {
    const fitting = files.filter((file) => file.size <= LARGEST_FILE);
    if (fitting.length < files.length) this.tell("Files of up to 8 MB can be attached.");
    return Promise.all(fitting.map(async (file) => ({ name: file.name, base64: await base64(file) })));
  }

  #choose(key, value) {
    if (value === undefined) this.store.choices.delete(key);
    else this.store.choices.set(key, value);
    this.store.changed();
  }

  async #try(order, fields) {
    try {
      return await this.api.post(order, fields);
    } catch (refused) {
      this.tell(`That did not work: ${refused.message}`);
      return false;
    }
  }
}

function base64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => done(String(reader.result).split(",")[1] ?? ""));
    reader.addEventListener("error", () => failed(reader.error));
    reader.readAsDataURL(file);
  });
}
