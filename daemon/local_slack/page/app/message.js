/** The node of one message in a timeline or a thread. */

import { el, icon } from "./dom.js";
import { editor } from "./editor.js";
import { emoji } from "./emoji.js";
import { ICONS } from "./icons.js";
import { attachments } from "./render/attachments.js";
import { avatar, messageAvatar } from "./render/avatar.js";
import { messageBody } from "./render/blocks.js";
import { inline } from "./render/inline.js";
import { clock, dayAndClock, whole } from "./time.js";
import { pickReaction, toolbar } from "./toolbar.js";

/**
 * @typedef {object} Setting
 * @property {import("./store.js").Store} store
 * @property {import("./actions.js").Actions} actions
 * @property {boolean} inThread whether the thread pane shows it
 */

/**
 * All that the node depends on, as text.
 * @param {import("./selectors.js").Row} row
 * @param {Setting} setting
 */
export function signature({ message, grouped, nested }, { store }) {
  if (store.editing === message.ts) return `editing ${grouped}`;
  return JSON.stringify([message, grouped, nested, chosen(store, message), store.people.size]);
}

/** @param {import("./selectors.js").Row} row @param {Setting} setting @returns {HTMLElement} */
export function messageNode(row, setting) {
  const { message } = row;
  if (message.subtype === "channel_join" || message.subtype === "tombstone") return remark(message, setting.store);
  const { store } = setting;
  const author = store.people.get(message.user);
  const streaming = message.streaming_state === "in_progress";
  const kinds = [
    "message",
    row.grouped && "grouped",
    row.nested && "nested",
    streaming && "streaming",
    message.is_ephemeral && "ephemeral",
  ];
  const label = `${authorOf(message, store)}, ${clock(message.ts)}`;
  const attributes = {
    class: kinds.filter(Boolean).join(" "),
    tabindex: -1,
    "aria-label": label,
    "aria-busy": streaming ? "true" : null,
  };
  return el(
    "article",
    { ...attributes, data: { ts: message.ts } },
    row.grouped ? moment(message.ts, "gutter-time") : messageAvatar(message, author),
    el("div", { class: "content" }, row.grouped ? null : heading(message, author, store), ...content(row, setting)),
    message.is_ephemeral || store.editing === message.ts
      ? null
      : toolbar(message, { ...setting, own: message.user === store.me.id }),
  );
}

/** The names shown for ids in messages. @param {import("./store.js").Store} store */
export function namesOf(store) {
  return {
    me: store.me.id,
    person: (id) => store.nameOf(id),
    channel: (id) => store.channels.get(id)?.name ?? id,
  };
}

function content(row, setting) {
  const { message } = row;
  const { store, actions } = setting;
  if (store.editing === message.ts) return [editor(message, setting)];
  const press = (actionId, value) => actions.press(message, actionId, value);
  const shown = { names: namesOf(store), chosen: chosen(store, message), press };
  const body = el("div", { class: "body" }, ...messageBody(message, shown), ...attachments(message, shown));
  if (message.edited) body.append(el("span", { class: "edited", title: whole(message.edited.ts) }, "(edited)"));
  return [
    message.is_ephemeral ? el("p", { class: "only-you" }, icon(ICONS.eye), "Only visible to you") : null,
    body,
    message.streaming_state === "errored" ? el("p", { class: "broken" }, "This reply was interrupted.") : null,
    message.files?.length ? files(message, setting) : null,
    message.reactions?.length ? reactions(message, setting) : null,
    summary(row, setting),
  ].filter(Boolean);
}

function heading(message, author, store) {
  return el(
    "div",
    { class: "message-heading" },
    el("bdi", { class: "author" }, authorOf(message, store)),
    author?.is_bot ? el("span", { class: "badge" }, "app") : null,
    moment(message.ts, "time"),
  );
}

/** The displayed author; the app may post under custom names. */
function authorOf(message, store) {
  return message.username || store.nameOf(message.user);
}

function moment(ts, kind) {
  return el(
    "time",
    { class: kind, title: whole(ts), datetime: new Date(Number.parseFloat(ts) * 1000).toISOString() },
    clock(ts),
  );
}

function files(message, { actions }) {
  const shown = message.files.map((file) => {
    const save = (event) => {
      event.preventDefault();
      actions.save(file);
    };
    return el(
      "a",
      { class: "file", href: "#", on: { click: save } },
      icon(ICONS.file),
      el("bdi", {}, file.name),
      el("span", { class: "quiet" }, size(file.size)),
    );
  });
  return el("div", { class: "files" }, ...shown);
}

function size(bytes) {
  return bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 * 1024
      ? `${Math.round(bytes / 1024)} kB`
      : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

function reactions(message, { store, actions }) {
  const shown = message.reactions.map(({ name, users, count }) => {
    const mine = users.includes(store.me.id);
    const who = `${users.map((id) => store.nameOf(id)).join(", ")} reacted with :${name}:`;
    const attributes = {
      type: "button",
      class: "reaction",
      "aria-pressed": String(mine),
      title: who,
      "aria-label": `${name}, ${count}`,
    };
    return el(
      "button",
      { ...attributes, data: { focus: `reaction ${name}` }, on: { click: () => actions.react(message, name) } },
      emoji(name) ?? `:${name}:`,
      el("span", {}, String(count)),
    );
  });
  const more = { type: "button", class: "reaction more", "aria-label": "Add a reaction", title: "Add a reaction" };
  const pick = (event) => pickReaction(event.currentTarget, message, actions);
  return el("div", { class: "reactions" }, ...shown, el("button", { ...more, on: { click: pick } }, icon(ICONS.smile)));
}

function summary({ message }, { store, actions, inThread }) {
  const count = message.reply_count ?? 0;
  if (!count || inThread || store.channels.get(message.channel)?.kind === "im") return null;
  const avatars = (message.reply_users ?? []).slice(0, 3).map((id) => avatar(store.people.get(id), "tiny"));
  const last = message.latest_reply
    ? el("span", { class: "quiet" }, `Last ${dayAndClock(message.latest_reply)}`)
    : null;
  const words = el("span", { class: "reply-count" }, count === 1 ? "1 reply" : `${count} replies`);
  return el(
    "button",
    {
      type: "button",
      class: "summary",
      data: { focus: "summary" },
      on: { click: () => actions.openThread(message.ts) },
    },
    ...avatars,
    words,
    last,
  );
}

function remark(message, store) {
  const words =
    message.subtype === "tombstone"
      ? document.createTextNode("This message was deleted.")
      : inline(message.text, namesOf(store), "mrkdwn");
  return el(
    "article",
    { class: "message remark", tabindex: -1, data: { ts: message.ts } },
    el("p", {}, words, " ", moment(message.ts, "time")),
  );
}

function chosen(store, message) {
  const key = (message.blocks ?? [])
    .flatMap((block) => block.elements ?? [])
    .find((each) => each.type === "feedback_buttons")?.action_id;
  return key ? (store.choices.get(`${message.channel}/${message.ts}/${key}`) ?? "") : "";
}
