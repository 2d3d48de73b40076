/** The content of a conversation without messages. */

import { el } from "./dom.js";
import { avatar } from "./render/avatar.js";

const PROMPTS = [
  { title: "Say hello", message: "Hello! Who are you?" },
  { title: "Ask what it remembers", message: "What do you remember about me?" },
  { title: "Think something through together", message: "Help me think something through: where do we begin?" },
];

/**
 * @param {import("./store.js").Store} store
 * @param {(text: string) => void} say
 * @returns {HTMLElement | null}
 */
export function welcome(store, say) {
  const { channel } = store;
  if (!channel) return null;
  return store.isSoulDm(channel) ? withSoul(store, channel, say) : inChannel(store, channel);
}

function withSoul(store, channel, say) {
  const name = store.nameOf(store.bot.id);
  const offered = channel.prompts?.prompts?.length ? channel.prompts : { title: "", prompts: PROMPTS };
  const chips = offered.prompts.map(({ title, message }) =>
    el("button", { type: "button", class: "prompt", on: { click: () => say(message) } }, el("bdi", {}, title)),
  );
  return el(
    "section",
    { class: "welcome" },
    avatar(store.bot, "large"),
    el("h2", {}, `Your direct messages with ${name}`),
    el(
      "p",
      {},
      `Only you and ${name} can read this conversation. Write below as you would to a colleague. `,
      "The reply appears under your message while it is being written.",
    ),
    store.note ? el("p", { class: "app-note" }, el("bdi", {}, store.note)) : null,
    el("p", { class: "prompts-title" }, offered.title || "Try one of these"),
    el("div", { class: "prompts" }, ...chips),
    el(
      "ul",
      { class: "tips" },
      el(
        "li",
        {},
        "In a channel, mention ",
        el("span", { class: "mention" }, `@${name}`),
        " and it replies in a thread.",
      ),
      el("li", {}, "Open a second window as another user to see what they see."),
    ),
  );
}

function inChannel(store, channel) {
  const name = store.titleOf(channel);
  const sign = channel.kind === "channel" || channel.kind === "group" ? "#" : "";
  const others = channel.members.filter((id) => id !== store.me.id).map((id) => store.nameOf(id));
  return el(
    "section",
    { class: "welcome" },
    el("h2", {}, el("bdi", {}, `${sign}${name}`)),
    el(
      "p",
      {},
      others.length
        ? `The members are ${others.join(", ")} and you. There are no messages yet.`
        : "There are no messages yet.",
    ),
    channel.app_is_member
      ? el(
          "p",
          {},
          "Mention ",
          el("span", { class: "mention" }, `@${store.nameOf(store.bot.id)}`),
          " to get a reply.",
        )
      : null,
  );
}
