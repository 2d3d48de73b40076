/** The box in which users edit their messages. */

import { el } from "./dom.js";

/** @param {any} message @param {import("./message.js").Setting} setting */
export function editor(message, { store, actions }) {
  const box = el("textarea", { class: "edit-box", "aria-label": "Edit your message", dir: "auto" });
  box.value = asTyped(message.text, store);
  box.rows = Math.min(12, box.value.split("\n").length);
  const save = () => actions.edit(message, box.value);
  box.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      save();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      actions.startEditing("");
    }
  });
  queueMicrotask(() => {
    box.focus();
    box.setSelectionRange(box.value.length, box.value.length);
  });
  return el(
    "div",
    { class: "editor" },
    box,
    el(
      "div",
      { class: "editor-bar" },
      el("button", { type: "button", class: "button", on: { click: () => actions.startEditing("") } }, "Cancel"),
      el("button", { type: "button", class: "button primary", on: { click: save } }, "Save"),
    ),
  );
}

/** Stored text as the user typed it: mentions by name, bare links, entities decoded. */
function asTyped(text, store) {
  const bare = text.replace(/<([@#!]?)([^<>|]{1,2000})(?:\|([^<>]{0,1000}))?>/g, (_, sign, target, shown) => {
    if (sign === "@") return `@${store.nameOf(target)}`;
    if (sign === "#") return `#${shown || store.channels.get(target)?.name || target}`;
    return sign === "!" ? `@${target}` : target;
  });
  return bare.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
