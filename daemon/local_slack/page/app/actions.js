/** The actions of the user: each method sends a request to the workspace and shows its refusal. */

import { el } from "./dom.js";
import { goTo } from "./route.js";

const FIRST_PAGE = 300;
const LARGEST_FILE = 8 * 1024 * 1024;

export class Actions {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./api.js").Api} api
   * @param {(text: string) => void} notify shows a short note
   */
  constructor(store, api, notify) {
    Object.assign(this, { store, api, notify });
    this.limits = new Map();
    this.sending = Promise.resolve();
  }

  /** Post a text and files; messages are sent one after the other, in order. False when it failed. */
  say(channel, text, { thread = "", files = [] } = {}) {
    const sent = this.sending.then(() => this.#try("say", { channel, text, thread, files }));
    this.sending = sent;
    return sent;
  }

  /** Edit the user's own message; false when it failed. */
  async edit({ channel, ts }, text) {
    const done = text.trim() ? await this.#try("edit", { channel, ts, text }) : true;
    if (done) this.startEditing("");
    return done;
  }

  /** Delete the user's own message. */
  async remove({ channel, ts }) {
    await this.#try("delete", { channel, ts });
  }

  /** Add the user's reaction, or remove it. */
  async react(message, name) {
    const mine = message.reactions?.find((each) => each.name === name)?.users.includes(this.store.me.id);
    await this.#try("react", { channel: message.channel, ts: message.ts, name, remove: Boolean(mine) });
  }

  /** Click a button of a message. Its choice is shown at once, and undone if the app did not get it. */
  async press(message, actionId, value) {
    const key = `${message.channel}/${message.ts}/${actionId}`;
    const before = this.store.choices.get(key);
    this.#choose(key, value);
    const answer = await this.#try("click", { channel: message.channel, ts: message.ts, action_id: actionId, value });
    if (answer?.delivered) return;
    this.#choose(key, before);
    if (answer) this.notify("Not delivered: the soul is not connected.");
  }

  /** Type a slash command in a conversation; false when it failed. @param {string} channel @param {string} typed */
  async command(channel, typed) {
    const [command, text] = typed.trim().split(/\s+(.*)/s);
    if (!this.store.commands.some((each) => each.command === command)) {
      this.notify(`${command} is not a valid command.`);
      return false;
    }
    const answer = await this.#try("command", { channel, command, text: text ?? "" });
    if (answer && !answer.delivered) this.notify(`${command} failed: the soul is not connected.`);
    return Boolean(answer?.delivered);
  }

  /** Send what was filled into a dialog; its answer comes with the event stream. False when it failed. */
  async submit(view, values) {
    const answer = await this.#try("submit", { view, values });
    if (answer && !answer.delivered) this.notify("Not delivered: the soul is not connected.");
    return Boolean(answer?.delivered);
  }

  /** Save a shared file as a download of the browser. */
  async save({ id, name }) {
    try {
      const file = await (await this.api.open("file", { file: id })).blob();
      const address = URL.createObjectURL(file);
      el("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (fault) {
      this.notify(fault.message);
    }
  }

  /** Close a dialog without sending it. @param {string} view the id of it */
  async closeDialog(view) {
    this.store.dialogs.delete(view);
    this.store.changed();
    await this.#try("close", { view });
  }

  /** Move the workspace's clock forward. @param {number} seconds */
  async moveClock(seconds) {
    await this.#try("clock", { advance: seconds });
  }

  /** Use a shortcut of the app at a message. */
  async useShortcut({ channel, ts }, callbackId) {
    const answer = await this.#try("shortcut", { channel, ts, callback_id: callbackId });
    if (answer && !answer.delivered) this.notify("Not delivered: the soul is not connected.");
  }

  /** Press the stop button of a thread in which the app is at work. @param {string} channel @param {string} thread */
  async stop(channel, thread) {
    await this.#try("stop", { channel, thread });
  }

  /** Join a channel. */
  async join(channel) {
    await this.#try("join", { channel });
    await this.refresh();
  }

  /** Add the soul to a channel. */
  async invite(channel) {
    await this.#try("join", { channel, person: this.store.bot.id, inviter: this.store.me.id });
    await this.refresh();
  }

  /** Open a conversation. */
  open(channel) {
    goTo(channel);
  }

  /** Open the app's home tab. */
  async openHome() {
    goTo(this.store.dm.id, "home");
    const answer = await this.#try("open_home", {});
    if (answer?.view) this.store.homeView = answer.view;
    this.store.changed();
  }

  /** Press a button of the home tab; the app then publishes the tab anew. @param {string} actionId */
  async pressHome(actionId) {
    const answer = await this.#try("press_home", { action_id: actionId });
    if (answer && !answer.delivered) this.notify("Not delivered: the soul is not connected.");
  }

  /** Open a thread of the open conversation; an empty ts closes it. */
  openThread(thread) {
    goTo(this.store.view.channel, thread);
  }

  /** Start to edit a message; an empty ts stops. @param {string} ts */
  startEditing(ts) {
    this.store.editing = ts;
    this.store.changed();
  }

  /** Mark all messages of a channel as read. */
  async read(channel) {
    const room = this.store.channels.get(channel);
    if (!room?.is_member) return;
    room.unread = 0;
    this.store.changed();
    await this.api.post("read", { channel }).catch(() => {});
  }

  /** Reload users, channels and statuses; gives the cursor of their state. */
  async refresh() {
    const [state, { views }] = await Promise.all([this.api.get("state"), this.api.get("modals")]);
    this.store.takeState(state);
    this.store.takeDialogs(views);
    return state.cursor;
  }

  /** Load a conversation's messages; each call with `earlier` loads three times as many. */
  async load(channel, { earlier = false } = {}) {
    const limit = (this.limits.get(channel) ?? FIRST_PAGE) * (earlier ? 3 : 1);
    this.limits.set(channel, limit);
    const [stored, own] = await Promise.all([
      this.api.get("messages", { channel, thread: "*", limit: String(limit) }),
      this.api.get("messages", { channel, limit: "0" }), // ephemeral messages, in threads and outside
    ]);
    this.store.takeMessages(channel, { ...stored, ephemerals: own.ephemerals });
  }

  /**
   * Files in the workspace's form. Files that are too large are omitted, with a note.
   * @param {File[]} files
   */
  async pack(files) {
    const fitting = files.filter((file) => file.size <= LARGEST_FILE);
    if (fitting.length < files.length) this.notify("Files of up to 8 MB can be attached.");
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
      this.notify(`That did not work: ${refused.message}`);
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
