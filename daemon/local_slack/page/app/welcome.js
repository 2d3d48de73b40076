/** What stands in a conversation before anything was said there. */

import { el } from "./dom.js";
import { avatar } from "./render/avatar.js";

const FIRST_WORDS = [
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
  return store.isSoulDm(channel) ? withSoul(store, channel, say) : elsewhere(store, channel);
}

function withSoul(store, channel, say) {
  const name = store.nameOf(store.bot.id);
  const offered = channel.prompts?.prompts?.length ? channel.prompts : { title: "", prompts: FIRST_WORDS };
  const chips = offered.prompts.map(({ title, message }) =>
    el("button", { type: "button", class: "prompt", on: { click: () => say(message) } }, el("bdi", {}, title)),
  );
  return el(
    "section",
    { class: "welcome" },
    avatar(store.bot, "large"),
    el("h2", {}, `This is where you and ${name} talk`),
    el(
      "p",
      {},
      `Only you and ${name} can read this. Write to it below as you would to a colleague: `,
      "its answer appears beneath your words while it is being written.",
    ),
    el("p", { class: "prompts-title" }, offered.title || "A good beginning"),
    el("div", { class: "prompts" }, ...chips),
    el(
      "ul",
      { class: "tips" },
      el(
        "li",
        {},
        "In a channel, mention ",
        el("span", { class: "mention" }, `@${name}`),
        " and it answers in a thread.",
      ),
      el("li", {}, "Open a second window as somebody else to see what others see."),
    ),
  );
}

function elsewhere(store, channel) {
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
        ? `Here are ${others.join(", ")} and you. Nothing has been said yet.`
        : "Nothing has been said yet.",
    ),
    channel.app_is_member
      ? el(
          "p",
          {},
          "Mention ",
          el("span", { class: "mention" }, `@${store.nameOf(store.bot.id)}`),
          " to bring it into the talk.",
        )
      : null,
  );
}
