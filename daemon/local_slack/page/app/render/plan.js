/** The plan of a message: one card per task (Slack: task updates of a stream). */

import { el, icon } from "../dom.js";
import { ICONS } from "../icons.js";
import { decoded } from "./inline.js";

const STATES = {
  pending: { label: "Not started", drawing: null },
  in_progress: { label: "In progress", drawing: null },
  complete: { label: "Done", drawing: ICONS.done },
  error: { label: "Failed", drawing: ICONS.failed },
};

/**
 * The plan above a message's text, or null. It is open while the message streams, and can be opened later.
 * @param {any} message
 * @returns {HTMLElement | null}
 */
export function plan(message) {
  const tasks = (message.chunks ?? []).filter((chunk) => chunk.type === "task_update");
  if (!tasks.length) return null;
  const title = message.chunks.find((chunk) => chunk.type === "plan_update")?.title || "Plan";
  const going = message.streaming_state === "in_progress";
  const done = tasks.filter((task) => task.status === "complete" || task.status === "error").length;
  const counted = going ? el("span", { class: "quiet" }, `${done} of ${tasks.length}`) : null;
  return el(
    "details",
    { class: "plan", open: going },
    el("summary", { data: { focus: "plan" } }, el("bdi", { class: "plan-title" }, decoded(title)), counted),
    el("ol", { class: "tasks", "aria-label": "Steps" }, ...tasks.map(card)),
  );
}

function card({ title, status, details, output }) {
  const { label, drawing } = STATES[status] ?? STATES.pending;
  const sign = el("span", { class: "task-sign", "aria-hidden": "true" }, drawing ? icon(drawing) : null);
  const lines = [details, output].filter(Boolean).map((text) => el("p", { class: "task-details", dir: "auto" }, text));
  return el(
    "li",
    { class: `task ${status}` },
    sign,
    el(
      "div",
      { class: "task-words" },
      el("bdi", { class: "task-title" }, decoded(title)),
      el("span", { class: "unseen" }, `, ${label}`),
      ...lines,
    ),
  );
}
