/** Paragraphs, lists, quotes, code, headings and tables, in Slack's mrkdwn and in standard markdown. */

import { el } from "../dom.js";
import { decoded, inline } from "./inline.js";

const DEEPEST = 6;
const FENCE = /^\s{0,12}(`{3,}|~{3,})\s*([\w+#.-]{0,40})\s*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}(?:>|&gt;) ?/;
const ITEM = /^(\s*)([-*+•◦]|\d{1,9}[.)])\s+(.*)$/;
// What opens a block stands at the beginning of a line; patterns over a whole long line could take seconds.
const LONGEST_OPENING = 500;
const TABLE_LINE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/**
 * @param {string} text
 * @param {import("./inline.js").Names} names
 * @param {"mrkdwn" | "markdown"} dialect
 * @returns {HTMLElement}
 */
export function prose(text, names, dialect) {
  const whole = el("div", { class: "prose" });
  if (dialect === "markdown") whole.append(...blocks(text.split("\n"), { names, dialect, depth: 0 }));
  else {
    text.split("```").forEach((part, at, parts) => {
      const closed = at % 2 && at < parts.length - 1;
      if (closed) whole.append(codeBlock(decoded(part.replace(/^\n|\n$/g, ""))));
      else whole.append(...blocks((at % 2 ? `\`\`\`${part}` : part).split("\n"), { names, dialect, depth: 0 }));
    });
  }
  whole.dir = "auto"; // last: earlier, the browser would search every added child for its direction
  return whole;
}

function blocks(lines, style) {
  const out = [];
  let paragraph = [];
  const flush = () => {
    const text = paragraph.join("\n").trim();
    if (text) out.push(el("p", {}, inline(text, style.names, style.dialect)));
    paragraph = [];
  };
  for (let at = 0; at < lines.length;) {
    const found = lines[at].trim() ? special(lines, at, style) : { node: null, next: at + 1 };
    if (found) {
      flush();
      if (found.node) out.push(found.node);
      at = found.next;
    } else {
      paragraph.push(lines[at]);
      at += 1;
    }
  }
  flush();
  return out;
}

/** The block, other than a paragraph, that starts at a line, and the line after it; null without one. */
function special(lines, at, style) {
  const line = lines[at];
  if (style.depth < DEEPEST) {
    if (QUOTE.test(line)) return quote(lines, at, style);
    if (ITEM.test(line) && !(style.dialect === "markdown" && RULE.test(line))) return list(lines, at, style);
  }
  if (style.dialect !== "markdown") return null;
  const fence = FENCE.exec(opening(line));
  if (fence) return fenced(lines, at, fence[1]);
  const heading = HEADING.exec(line);
  if (heading) {
    const words = heading[2].replace(/\s#{1,6}\s*$/, "");
    const attributes = {
      class: `heading level-${heading[1].length}`,
      role: "heading",
      "aria-level": heading[1].length,
    };
    return { node: el("div", attributes, inline(words, style.names, style.dialect)), next: at + 1 };
  }
  if (RULE.test(line)) return { node: el("hr"), next: at + 1 };
  if (line.includes("|") && TABLE_LINE.test(opening(lines[at + 1] ?? "")) && lines[at + 1].includes("-")) {
    return table(lines, at, style);
  }
  return null;
}

function fenced(lines, at, sign) {
  let end = at + 1;
  while (end < lines.length && !closes(lines[end], sign)) end += 1;
  return { node: codeBlock(lines.slice(at + 1, end).join("\n")), next: end + 1 };
}

function closes(line, sign) {
  const trimmed = line.trim();
  return trimmed.startsWith(sign) && trimmed.replaceAll(sign[0], "") === "";
}

function codeBlock(text) {
  return el("pre", { tabindex: 0, dir: "ltr", "aria-label": "Code" }, el("code", {}, text));
}

function quote(lines, at, style) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return { node: el("blockquote", {}, ...blocks(inner, { ...style, depth: style.depth + 1 })), next: end };
}

function list(lines, start, style) {
  const [, indent, sign] = ITEM.exec(lines[start]);
  const base = indent.length;
  const items = [];
  let at = start;
  for (; at < lines.length; at += 1) {
    const line = lines[at];
    const found = ITEM.exec(line);
    const depth = line.length - line.trimStart().length;
    if (found && depth <= base + 1) {
      if (depth < base || isOrdered(found[2]) !== isOrdered(sign)) break;
      items.push([found[3]]);
    } else if (!line.trim()) {
      if (!goesOn(lines[at + 1], base)) break;
      items.at(-1).push("");
    } else if (depth > base) {
      items.at(-1).push(line.slice(Math.min(depth, base + 2)));
    } else break;
  }
  const inner = { ...style, depth: style.depth + 1 };
  const children = items.map((item) => el("li", {}, ...blocks(item, inner)));
  const attributes = isOrdered(sign) ? { start: Number.parseInt(sign, 10) } : {};
  return { node: el(isOrdered(sign) ? "ol" : "ul", attributes, ...children), next: at };
}

function isOrdered(sign) {
  return /\d/.test(sign);
}

function goesOn(next, base) {
  if (!next?.trim()) return false;
  const depth = next.length - next.trimStart().length;
  return depth > base || (depth === base && ITEM.test(next));
}

function table(lines, at, style) {
  const head = cells(lines[at]);
  const sides = cells(lines[at + 1]).map((cell) =>
    cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "end") : "",
  );
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim()) end += 1;
  const row = (texts, tag) => {
    const shown = head.map((_, n) => {
      const attributes = { class: sides[n] || null, scope: tag === "th" ? "col" : null };
      return el(tag, attributes, inline(texts[n] ?? "", style.names, style.dialect));
    });
    return el("tr", {}, ...shown);
  };
  const body = lines.slice(at + 2, end).map((line) => row(cells(line), "td"));
  const grid = el("table", {}, el("thead", {}, row(head, "th")), el("tbody", {}, ...body));
  return { node: el("div", { class: "table", tabindex: 0, role: "group", "aria-label": "Table" }, grid), next: end };
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner
    .split(/(?<!\\)\|/)
    .slice(0, 50)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/**
 * @param {string} line
 * @returns {string} the line without blanks at its end; nothing of a line that is too long to open a block
 */
function opening(line) {
  return line.length > LONGEST_OPENING ? "" : line.trimEnd();
}
