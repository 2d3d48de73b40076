/** Asks before a button is pressed whose app wants that (Slack: confirmation dialog). */

import { el } from "./dom.js";

/**
 * Do something at once, or once the user has agreed.
 * @param {any} asks Slack's confirmation object, or nothing
 * @param {() => void} act
 */
export function confirmed(asks, act) {
  if (!asks) return act();
  const close = () => dialog.remove();
  const agree = () => {
    close();
    act();
  };
  const yes = asks.style === "danger" ? "button danger" : "button primary";
  const dialog = el(
    "dialog",
    { class: "dialog small", "aria-label": words(asks.title), on: { close } },
    el("h2", {}, words(asks.title)),
    el("p", { dir: "auto" }, words(asks.text)),
    el(
      "footer",
      {},
      el("button", { type: "button", class: "button", on: { click: close } }, words(asks.deny)),
      el("button", { type: "button", class: yes, on: { click: agree } }, words(asks.confirm)),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

function words(text) {
  return String(text?.text ?? "");
}
