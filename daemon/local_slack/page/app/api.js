/** A client of the workspace's control API for one user. */

const KEY = "key";

/** Take the workspace's key out of the page's address; this tab alone keeps it, and no other port of this machine. */
export function takeKey() {
  const address = new URL(location.href);
  if (!address.searchParams.has(KEY)) return;
  sessionStorage.setItem(KEY, address.searchParams.get(KEY));
  address.searchParams.delete(KEY);
  history.replaceState(null, "", address);
}

/** An address of this page for another tab, which has to bring the key. @param {string} address */
export function forNewTab(address) {
  const url = new URL(address, location.href);
  url.searchParams.set(KEY, sessionStorage.getItem(KEY) ?? "");
  return url.href;
}

/** A refusal of the workspace; `code` is `unreachable` when there was no answer. */
export class Refused extends Error {
  constructor(code, hint = "") {
    super(hint || code.replaceAll("_", " "));
    this.code = code;
  }
}

function unreachable() {
  throw new Refused("unreachable", "The workspace can't be reached.");
}

export class Api {
  /** @param {string} person an id, or empty to see everything */
  constructor(person = "") {
    this.person = person;
  }

  /** Read a view (GET). @param {string} view @param {Record<string, string>} fields */
  async get(view, fields = {}) {
    return this.#ask(this.#address(view, fields));
  }

  /** Send an order (POST). @param {string} order @param {Record<string, unknown>} fields */
  async post(order, fields = {}) {
    const body = JSON.stringify({ person: this.person, ...fields });
    return this.#ask(`/_control/${order}`, { method: "POST", body }, { "Content-Type": "application/json" });
  }

  /**
   * The answer of a view that is no JSON.
   * @param {string} view @param {Record<string, string>} fields @param {AbortSignal} signal ends it early
   */
  async open(view, fields = {}, signal = undefined) {
    const response = await this.#fetch(this.#address(view, fields), { signal });
    if (!response.ok) {
      const { error, hint } = await response.json();
      throw new Refused(String(error), String(hint ?? ""));
    }
    return response;
  }

  #address(view, fields) {
    return `/_control/${view}?${new URLSearchParams(this.person ? { person: this.person, ...fields } : fields)}`;
  }

  async #fetch(address, options = {}, headers = {}) {
    const key = { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` };
    return await fetch(address, { cache: "no-store", ...options, headers: { ...key, ...headers } }).catch(unreachable);
  }

  async #ask(address, options, headers) {
    const answer = await (await this.#fetch(address, options, headers)).json().catch(unreachable);
    if (!answer.ok) throw new Refused(String(answer.error), String(answer.hint ?? ""));
    return answer;
  }
}
