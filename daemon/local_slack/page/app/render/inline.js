/** Markup within a paragraph: emphasis, code, links, mentions. Bounded patterns keep hostile text cheap. */

import { el } from "../dom.js";
import { emoji } from "../emoji.js";
import { date, formatted, whole } from "../time.js";

const ATOM = "\uFFFC";
const DEEPEST = 8;
const LETTER = /[\p{L}\p{N}]/u;

const PIECES = [
  String.raw`(?<ticks>\`{1,3})(?!\`)(?<code>[^]{1,1000}?)(?<!\`)\k<ticks>(?!\`)`,
  String.raw`<(?<sign>[@#!])(?<target>[^<>|\n]{1,80})(?:\|(?<shown>[^<>\n]{0,200}))?>`,
  String.raw`<(?<address>(?:https?:\/\/|mailto:)[^<>|\s]{1,2000})(?:\|(?<label>[^<>\n]{0,1000}))?>`,
  String.raw`(?<![\w/])(?<bare>https?:\/\/[^\s<>|*\`]{0,1000}[^\s<>|*\`.,;:!?)\]'"_~])`,
  String.raw`&(?<entity>lt|gt|amp|quot|nbsp|#\d{1,6}|#x[\da-fA-F]{1,6});`,
  String.raw`:(?<emoji>[a-z0-9_+-]{1,40}):`,
];
const HREF = String.raw`(?<href>[^\s<>()]{1,1000}(?:\([^\s()]{0,200}\)[^\s()]{0,200}){0,3})`;
const MARKDOWN_PIECES = [
  String.raw`\\(?<escaped>[!-\/:-@\[-\`{-~])`,
  String.raw`!?\[(?<words>[^\[\]\n]{0,500})\]\(\s?<?${HREF}>?(?:\s"[^"\n]{0,300}")?\s?\)`,
];

const MRKDWN = {
  pieces: new RegExp(PIECES.join("|"), "g"),
  marks: [
    ["**", ["strong"]],
    ["*", ["strong"]],
    ["_", ["em"]],
    ["~", ["s"]],
  ],
};
const MARKDOWN = {
  pieces: new RegExp([...MARKDOWN_PIECES, ...PIECES].join("|"), "g"),
  marks: [
    ["***", ["strong", "em"]],
    ["**", ["strong"]],
    ["__", ["strong"]],
    ["~~", ["s"]],
    ["*", ["em"]],
    ["_", ["em"]],
  ],
};
const NAMED_ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', nbsp: "\u00A0" };

/**
 * @typedef {object} Names the names shown for ids
 * @property {(id: string) => string} person
 * @property {(id: string) => string} channel
 * @property {string} me
 */

/**
 * @param {string} text one paragraph
 * @param {Names} names
 * @param {"mrkdwn" | "markdown"} dialect Slack's own markup, or standard markdown with Slack's mentions
 * @returns {DocumentFragment}
 */
export function inline(text, names, dialect) {
  const { pieces, marks } = dialect === "markdown" ? MARKDOWN : MRKDWN;
  const atoms = [];
  let line = "";
  let rest = 0;
  const clean = text.replaceAll(ATOM, "\uFFFD");
  for (const found of clean.matchAll(pieces)) {
    line += clean.slice(rest, found.index);
    rest = found.index + found[0].length;
    const atom = atomOf(found.groups, names, dialect);
    line += atom === null ? found[0] : ATOM;
    if (atom !== null) atoms.push(atom);
  }
  return emphasised(line + clean.slice(rest), marks, atoms.values(), 0);
}

/** Text with Slack's entities decoded. @param {string} text */
export function decoded(text) {
  return text.replace(/&(lt|gt|amp);/g, (_, name) => NAMED_ENTITIES[name]);
}

/** A link to a web page or mail address, else only its label. @param {string} address @param {string} label */
export function link(address, label) {
  let url = null;
  try {
    url = new URL(decoded(address));
  } catch {
    // not a URL
  }
  if (!url || !["http:", "https:", "mailto:"].includes(url.protocol)) return document.createTextNode(label);
  const here = placeHere(url);
  if (here) return el("a", { href: here, dir: "auto" }, label || decoded(address));
  const attributes = { href: url.href, title: url.href, rel: "noopener noreferrer", target: "_blank", dir: "auto" };
  return el("a", attributes, label || decoded(address));
}

/** The view of this page that the address of a message of this workspace opens, or empty. @param {URL} url */
function placeHere(url) {
  const found = url.origin === location.origin ? url.pathname.match(/^\/archives\/(\w+)\/p\d+$/) : null;
  return found ? `#/${[found[1], url.searchParams.get("thread_ts") ?? ""].filter(Boolean).join("/")}` : "";
}

function atomOf(groups, names, dialect) {
  if (groups.code !== undefined) {
    const code = dialect === "mrkdwn" ? decoded(groups.code) : groups.code;
    return el("code", {}, groups.ticks.length > 1 ? code.trim() : code);
  }
  if (groups.sign) return mention(groups, names);
  if (groups.address) return link(groups.address, decoded(groups.label || groups.address.replace(/^mailto:/, "")));
  if (groups.bare) return link(groups.bare, decoded(groups.bare));
  if (groups.href) return link(groups.href, decoded(groups.words || groups.href));
  if (groups.escaped) return document.createTextNode(groups.escaped);
  if (groups.entity) return document.createTextNode(entity(groups.entity));
  const character = emoji(groups.emoji);
  return character ? el("span", { class: "emoji", role: "img", "aria-label": groups.emoji }, character) : null;
}

function mention({ sign, target, shown }, names) {
  if (sign === "@") {
    return el("span", { class: target === names.me ? "mention mine" : "mention" }, `@${names.person(target)}`);
  }
  if (sign === "#") return el("span", { class: "mention" }, `#${decoded(shown || names.channel(target))}`);
  if (["here", "channel", "everyone"].includes(target)) return el("span", { class: "mention mine" }, `@${target}`);
  const [kind, seconds, format] = target.split("^");
  const time = kind === "date" && format ? formatted(seconds, decoded(format)) : "";
  if (time) return el("time", { title: whole(seconds), datetime: date(seconds).toISOString() }, time);
  return document.createTextNode(decoded(shown || target));
}

function entity(name) {
  if (!name.startsWith("#")) return NAMED_ENTITIES[name];
  const number = name[1] === "x" ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
  const surrogate = number >= 0xd800 && number <= 0xdfff;
  return number < 32 || number > 0x10ffff || surrogate ? "\uFFFD" : String.fromCodePoint(number);
}

function emphasised(text, marks, atoms, depth) {
  const out = document.createDocumentFragment();
  const hopeless = new Set();
  let plain = "";
  const flush = () => {
    const parts = plain.split(ATOM);
    parts.forEach((part, at) => out.append(...(at ? [atoms.next().value, part] : [part])));
    plain = "";
  };
  let at = 0;
  while (at < text.length) {
    const found = depth < DEEPEST ? opening(text, at, marks, hopeless) : null;
    if (found) {
      flush();
      const [sign, tags] = found.mark;
      const inner = emphasised(text.slice(at + sign.length, found.end), marks, atoms, depth + 1);
      out.append(tags.reduceRight((child, tag) => el(tag, {}, child), inner));
      at = found.end + sign.length;
    } else {
      plain += text[at];
      at += 1;
    }
  }
  flush();
  return out;
}

function opening(text, at, marks, hopeless) {
  if (!"*_~".includes(text[at])) return null;
  const withinWord = LETTER.test(text[at - 1] ?? " ");
  for (const mark of marks) {
    const [sign] = mark;
    if (withinWord && sign !== "**") continue;
    const after = text[at + sign.length];
    if (hopeless.has(sign) || !text.startsWith(sign, at) || !after || /\s/.test(after) || after === sign[0]) continue;
    const end = closing(text, at + sign.length + 1, sign);
    if (end > 0) return { mark, end };
    hopeless.add(sign);
  }
  return null;
}

function closing(text, from, sign) {
  for (let end = text.indexOf(sign, from); end >= 0; end = text.indexOf(sign, end + 1)) {
    const before = text[end - 1];
    const after = text[end + sign.length] ?? " ";
    const longer = before === sign[0] || after === sign[0];
    if (!/\s/.test(before) && !longer && (sign === "**" || !LETTER.test(after))) return end;
  }
  return -1;
}
