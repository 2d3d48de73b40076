/** The workspace's time, and times in the reader's time zone. A Slack `ts` is seconds since the epoch, as text. */

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });
const SHORT = new Intl.DateTimeFormat("en", { weekday: "short", day: "numeric", month: "short" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

let ahead = 0; // milliseconds by which the workspace's clock is ahead of this browser's

/** Set the workspace's time. @param {number} seconds since the epoch */
export function setNow(seconds) {
  ahead = seconds * 1000 - Date.now();
}

/** The workspace's time. */
export function now() {
  return new Date(Date.now() + ahead);
}

/** Nine o'clock of the workspace's next day. */
export function nextMorning() {
  const morning = now();
  morning.setDate(morning.getDate() + 1);
  morning.setHours(9, 0, 0, 0);
  return morning;
}

/** `Sun, Nov 22, 10:31`, the workspace's time. */
export function dayAndTime() {
  return `${SHORT.format(now())}, ${CLOCK.format(now())}`;
}

/** @param {string} ts @returns {Date} */
export function date(ts) {
  return new Date(Number.parseFloat(ts) * 1000);
}

/** `10:31` @param {string} ts */
export function clock(ts) {
  return CLOCK.format(date(ts));
}

/** Full date and time, for tooltips. @param {string} ts */
export function whole(ts) {
  return WHOLE.format(date(ts));
}

/** A key that is the same for all times of one day. @param {string} ts */
export function dayKey(ts) {
  return date(ts).toDateString();
}

/** `Today`, `Yesterday` or `Monday, June 1`. @param {string} ts */
export function dayName(ts) {
  const key = dayKey(ts);
  const today = now();
  if (key === today.toDateString()) return "Today";
  const yesterday = new Date(today);
  yesterday.setDate(today.getDate() - 1);
  return key === yesterday.toDateString() ? "Yesterday" : DAY.format(date(ts));
}

/** `today at 10:31`. @param {string} ts */
export function dayAndClock(ts) {
  const day = dayName(ts);
  return `${["Today", "Yesterday"].includes(day) ? day.toLowerCase() : day} at ${clock(ts)}`;
}
