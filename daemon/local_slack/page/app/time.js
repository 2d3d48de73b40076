/** The workspace's time, and times in the reader's time zone. A Slack `ts` is seconds since the epoch, as text. */

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });
const SHORT = new Intl.DateTimeFormat("en", { weekday: "short", day: "numeric", month: "short" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

const NUMBERS = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });
const SECONDS = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit", second: "2-digit" });
const DATE = new Intl.DateTimeFormat("en", { month: "long", day: "numeric", year: "numeric" });
const DATE_SHORT = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", year: "numeric" });
const DATE_LONG = new Intl.DateTimeFormat("en", { weekday: "long", month: "long", day: "numeric", year: "numeric" });
const TOKENS = {
  date_num: NUMBERS,
  date: DATE,
  date_short: DATE_SHORT,
  date_long: DATE_LONG,
  date_pretty: DATE,
  date_short_pretty: DATE_SHORT,
  date_long_pretty: DATE_LONG,
  time: CLOCK,
  time_secs: SECONDS,
};
const LAST = 8.64e12; // seconds since the epoch that a Date can hold

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

/**
 * A time on the reader's clock, as Slack formats dates: `{date_num} {time}`; empty where the format or the time is none.
 *
 * @param {string} seconds since the epoch
 * @param {string} format
 */
export function formatted(seconds, format) {
  if (!/^\d{1,13}$/.test(seconds) || Number(seconds) > LAST) return "";
  const names = [...format.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  if (!names.length || !names.every((name) => Object.hasOwn(TOKENS, name))) return "";
  return format.replace(/\{(\w+)\}/g, (_, name) => {
    const day = name.endsWith("_pretty") ? near(seconds) : "";
    return day || TOKENS[name].format(date(seconds));
  });
}

/** `today`, `yesterday` or `tomorrow`, else empty. @param {string} ts */
function near(ts) {
  const days = ["yesterday", "today", "tomorrow"];
  return (
    days.find((_, at) => {
      const day = now();
      day.setDate(day.getDate() + at - 1);
      return day.toDateString() === dayKey(ts);
    }) ?? ""
  );
}

/** `today at 10:31`. @param {string} ts */
export function dayAndClock(ts) {
  const day = dayName(ts);
  return `${["Today", "Yesterday"].includes(day) ? day.toLowerCase() : day} at ${clock(ts)}`;
}
