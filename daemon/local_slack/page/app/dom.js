/** Builds DOM nodes. Text always becomes a text node, so no message can become markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. `on` holds listeners, `data` the dataset. Attributes that are false, null or undefined are omitted.
 * @param {string} tag
 * @param {Record<string, any>} attributes
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function el(tag, { on = {}, data = {}, ...attributes } = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  Object.assign(node.dataset, data);
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  node.append(...children.filter((child) => child || child === 0));
  return node;
}

/**
 * An icon of one path, hidden from assistive technology.
 * @param {string} path
 * @returns {SVGElement}
 */
export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 20 20", class: "icon", "aria-hidden": "true" })) {
    svg.setAttribute(name, value);
  }
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** A button with an icon and an accessible name. */
export function iconButton(label, path, press, attributes = {}) {
  return el(
    "button",
    { type: "button", class: "icon-button", "aria-label": label, title: label, on: { click: press }, ...attributes },
    icon(path),
  );
}

/** Updates a parent's children from a list. Only changed children are rebuilt, and the focus is kept. */
export class KeyedList {
  /** @param {HTMLElement} parent whose children this list owns */
  constructor(parent) {
    this.parent = parent;
    this.drawn = new Map();
  }

  /** @param {{key: string, signature: string, build: () => HTMLElement}[]} items */
  show(items) {
    const now = new Map();
    for (const { key, signature, build } of items) {
      const old = this.drawn.get(key);
      const same = old?.signature === signature;
      const node = same ? old.node : build();
      if (old && !same) replaceKeepingFocus(old.node, node);
      now.set(key, { signature, node });
    }
    for (const [key, { node }] of this.drawn) if (!now.has(key)) node.remove();
    this.drawn = now;
    this.#order();
  }

  #order() {
    let place = this.parent.firstChild;
    for (const { node } of this.drawn.values()) {
      if (node === place) place = place.nextSibling;
      else this.parent.insertBefore(node, place);
    }
  }
}

function replaceKeepingFocus(old, node) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const name = focused?.dataset.focus;
  old.replaceWith(node);
  if (!focused) return;
  const heir = name ? node.querySelector(`[data-focus="${CSS.escape(name)}"]`) : null;
  (heir ?? node).focus({ preventScroll: true });
}
