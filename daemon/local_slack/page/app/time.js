/** Formats times in the reader's time zone. A Slack `ts` is seconds since the epoch with a fraction, as text. */

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

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
export function dayName(ts, now = new Date()) {
  const key = dayKey(ts);
  if (key === now.toDateString()) return "Today";
  const yesterday = new Date(now);
  yesterday.setDate(now.getDate() - 1);
  return key === yesterday.toDateString() ? "Yesterday" : DAY.format(date(ts));
}

/** `today at 10:31`. @param {string} ts */
export function dayAndClock(ts) {
  const day = dayName(ts);
  return `${["Today", "Yesterday"].includes(day) ? day.toLowerCase() : day} at ${clock(ts)}`;
}
