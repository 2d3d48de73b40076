/** Selects the rows of a timeline and of a thread from the store, in order. */

import { date, dayKey } from "./time.js";

const TOGETHER = 5 * 60 * 1000;

/**
 * @typedef {object} Row
 * @property {"day" | "message" | "status" | "stop" | "replies"} type
 * @property {string} key
 * @property {any} [message]
 * @property {boolean} [grouped] whether it follows a message of the same author within five minutes
 * @property {boolean} [nested] whether the timeline shows it below its root
 * @property {any} [line] the status line
 */

/** The rows of the open conversation. @param {import("./store.js").Store} store @returns {Row[]} */
export function timelineRows(store) {
  const { channel } = store.view;
  const everything = inOrder(store, channel);
  const replies = Map.groupBy(everything.filter(isReply), (message) => message.thread_ts);
  const unfolded = store.channel?.kind === "im";
  const rows = [];
  let [before, day] = [null, ""];
  for (const message of everything) {
    if (isReply(message) && message.subtype !== "thread_broadcast") continue;
    if (dayKey(message.ts) !== day) {
      day = dayKey(message.ts);
      rows.push({ type: "day", key: `day ${day}`, message });
      before = null;
    }
    rows.push(messageRow(message, before));
    const below = repliesBelow(store, message, unfolded ? (replies.get(message.ts) ?? []) : []);
    rows.push(...below);
    before = below.length || message.reply_count ? null : message;
  }
  return rows;
}

/** The rows of the open thread, its root first. @param {import("./store.js").Store} store @returns {Row[]} */
export function threadRows(store) {
  const { channel, thread } = store.view;
  const everything = inOrder(store, channel);
  const root = everything.find((message) => message.ts === thread);
  const replies = everything.filter((message) => isReply(message) && message.thread_ts === thread);
  const rows = root ? [messageRow(root, null)] : [];
  if (replies.length) rows.push({ type: "replies", key: "replies", count: replies.length });
  let before = null;
  for (const message of replies) {
    rows.push(messageRow(message, before));
    before = message;
  }
  const line = store.statuses.get(`${channel}/${thread}`);
  if (line) rows.push({ type: "status", key: `status ${thread}`, line });
  else if (atWork(store, channel, thread)) rows.push({ type: "stop", key: `stop ${thread}`, channel, thread });
  return rows;
}

/** Whether the app's session in a thread is at work; a status line that is set later takes the place of its button. */
function atWork(store, channel, thread) {
  return store.sessions.get(`${channel}/${thread}`)?.status === "processing";
}

/** Whether a message is a reply in a thread. @param {any} message */
export function isReply(message) {
  return Boolean(message.thread_ts) && message.thread_ts !== message.ts;
}

function repliesBelow(store, root, replies) {
  const rows = [];
  let before = null;
  for (const message of replies) {
    rows.push({ ...messageRow(message, before), nested: true });
    before = message;
  }
  const line = store.statuses.get(`${root.channel}/${root.ts}`);
  if (line) rows.push({ type: "status", key: `status ${root.ts}`, line, nested: true });
  else if (atWork(store, root.channel, root.ts))
    rows.push({ type: "stop", key: `stop ${root.ts}`, channel: root.channel, thread: root.ts, nested: true });
  return rows;
}

function inOrder(store, channel) {
  const stored = [...(store.messages.get(channel)?.values() ?? [])];
  const ephemerals = store.ephemerals.get(channel) ?? [];
  const all = stored.concat(ephemerals.map((message) => ({ ...message, is_ephemeral: true })));
  return all.sort((one, other) => (one.ts < other.ts ? -1 : 1));
}

function messageRow(message, before) {
  const close = before && date(message.ts) - date(before.ts) < TOGETHER;
  const same = before?.user === message.user && before.username === message.username;
  const settled = before?.bot_id && before.edited; // an answered question; the next message stands apart
  const alike = same && !settled && !before.subtype?.startsWith("channel_") && !message.is_ephemeral;
  const grouped = Boolean(close && alike && !before.is_ephemeral && message.subtype !== "tombstone");
  return { type: "message", key: `message ${message.ts}`, message, grouped };
}
