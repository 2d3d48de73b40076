/** Applies each kind of change of the event stream to the store. */

import { setNow } from "./time.js";

/**
 * @param {import("./store.js").Store} store
 * @param {string} kind
 * @param {any} data
 */
export function fold(store, kind, data) {
  FOLDS[kind]?.(store, data);
  store.changed();
}

const FOLDS = {
  message(store, { channel, message }) {
    store.messages.get(channel)?.set(message.ts, message);
    const room = store.channels.get(channel);
    const seen = store.view.channel === channel && !store.view.home && document.visibilityState === "visible";
    const inTimeline = !message.thread_ts || message.thread_ts === message.ts || message.subtype === "thread_broadcast";
    if (!room || seen || message.user === store.me.id) return;
    if (inTimeline || room.kind === "im") room.unread += 1;
  },
  message_changed(store, { channel, message }) {
    store.messages.get(channel)?.set(message.ts, message);
  },
  reaction(store, { channel, message }) {
    store.messages.get(channel)?.set(message.ts, message);
  },
  message_deleted(store, { channel, ts, thread_ts: thread }) {
    const messages = store.messages.get(channel);
    messages?.delete(ts);
    const root = messages?.get(thread);
    if (root?.reply_count) messages.set(thread, { ...root, reply_count: root.reply_count - 1 });
    if (store.editing === ts) store.editing = "";
  },
  ephemeral(store, { channel, message }) {
    if (store.ephemerals.has(channel)) store.ephemerals.get(channel).push(message);
  },
  thread(store, { channel, ts, reply_count: count, latest_reply: latest }) {
    const messages = store.messages.get(channel);
    const root = messages?.get(ts);
    if (root) messages.set(ts, { ...root, thread_ts: ts, reply_count: count, latest_reply: latest });
  },
  status(store, line) {
    const key = `${line.channel}/${line.thread_ts}`;
    if (line.status) store.statuses.set(key, line);
    else store.statuses.delete(key);
  },
  session(store, session) {
    store.sessions.set(`${session.channel}/${session.thread_ts}`, session);
  },
  prompts(store, { channel, title, prompts }) {
    const room = store.channels.get(channel);
    if (room) room.prompts = { title, prompts };
  },
  presence(store, { person, active }) {
    const known = store.people.get(person);
    if (known) known.active = active;
    if (store.bot.id === person) store.bot.active = active;
  },
  home(store, { view }) {
    store.homeView = view;
  },
  modal(store, { view }) {
    store.dialogs.set(view.id, { view, errors: {}, trouble: "" });
  },
  modal_answered(store, { view_id: id, view, errors, trouble }) {
    const open = store.dialogs.get(id);
    if (!open) return;
    if (view) store.dialogs.set(id, { view, errors: {}, trouble: "" });
    else if (errors || trouble) store.dialogs.set(id, { ...open, errors: errors ?? {}, trouble: trouble ?? "" });
    else store.dialogs.delete(id);
  },
  clock(_store, { now }) {
    setNow(now);
  },
};
