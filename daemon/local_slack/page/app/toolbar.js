/** The toolbar of a message (react, reply, edit, delete, shortcuts of the app) and the emoji picker. */

import { el, iconButton } from "./dom.js";
import { emoji, QUICK } from "./emoji.js";
import { ICONS } from "./icons.js";

/**
 * @param {any} message
 * @param {{store: import("./store.js").Store, actions: import("./actions.js").Actions, own: boolean, inThread: boolean}} setting
 */
export function toolbar(message, { store, actions, own, inThread }) {
  const buttons = [
    quick(message, actions, "+1"),
    quick(message, actions, "white_check_mark"),
    iconButton("Add a reaction", ICONS.smile, (event) => pickReaction(event.currentTarget, message, actions), {
      "aria-haspopup": "dialog",
    }),
  ];
  if (!inThread)
    buttons.push(iconButton("Reply in thread", ICONS.reply, () => actions.openThread(message.thread_ts || message.ts)));
  if (own) {
    buttons.push(
      iconButton("Edit message", ICONS.edit, () => actions.startEditing(message.ts)),
      iconButton("Delete message", ICONS.trash, (event) => confirmRemoval(event.currentTarget, message, actions), {
        "aria-haspopup": "dialog",
      }),
    );
  }
  if (store.shortcuts.length) {
    const open = (event) => pickShortcut(event.currentTarget, message, actions, store.shortcuts);
    buttons.push(iconButton("More actions", ICONS.more, open, { "aria-haspopup": "dialog" }));
  }
  return el("div", { class: "toolbar", role: "toolbar", "aria-label": "Message actions" }, ...buttons);
}

/** Open the emoji picker beside a button. */
export function pickReaction(button, message, actions) {
  const choose = (name) => () => {
    menu.hidePopover();
    actions.react(message, name);
  };
  const choices = QUICK.map((name) =>
    el("button", { type: "button", "aria-label": name, title: `:${name}:`, on: { click: choose(name) } }, emoji(name)),
  );
  const menu = popover(button, "Add a reaction", el("div", { class: "emoji-grid" }, ...choices));
}

function quick(message, actions, name) {
  const label = `React with ${name}`;
  return el(
    "button",
    {
      type: "button",
      class: "icon-button emoji",
      "aria-label": label,
      title: label,
      on: { click: () => actions.react(message, name) },
    },
    emoji(name),
  );
}

function pickShortcut(button, message, actions, shortcuts) {
  const use = (shortcut) => () => {
    menu.hidePopover();
    actions.useShortcut(message, shortcut.callback_id);
  };
  const choices = shortcuts.map((each) =>
    el("button", { type: "button", class: "choice", on: { click: use(each) } }, each.name),
  );
  const menu = popover(button, "More actions", el("div", { class: "shortcuts" }, ...choices));
}

function confirmRemoval(button, message, actions) {
  const yes = () => {
    menu.hidePopover();
    actions.remove(message);
  };
  const menu = popover(
    button,
    "Delete this message?",
    el(
      "div",
      { class: "confirm" },
      el("p", {}, "Delete this message? This cannot be undone."),
      el("button", { type: "button", class: "button danger", on: { click: yes } }, "Delete"),
      el("button", { type: "button", class: "button", on: { click: () => menu.hidePopover() } }, "Cancel"),
    ),
  );
}

function popover(button, label, content) {
  const menu = el("div", { class: "menu", popover: "auto", role: "dialog", "aria-label": label }, content);
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "closed") menu.remove();
  });
  button.closest(".message").append(menu);
  menu.showPopover();
  const place = button.getBoundingClientRect();
  const left = Math.min(place.left, innerWidth - menu.offsetWidth - 8);
  const below = place.bottom + 6 + menu.offsetHeight < innerHeight;
  menu.style.left = `${Math.max(8, left)}px`;
  menu.style.top = `${below ? place.bottom + 6 : Math.max(8, place.top - menu.offsetHeight - 6)}px`;
  menu.querySelector("button")?.focus();
  return menu;
}
