/** A client of the workspace's control API for one user. */

/** A refusal of the workspace; `code` is `unreachable` when there was no answer. */
export class Refused extends Error {
  constructor(code, hint = "") {
    super(hint || code.replaceAll("_", " "));
    this.code = code;
  }
}

export class Api {
  /** @param {string} person an id, or empty to see everything */
  constructor(person = "") {
    this.person = person;
  }

  /** Read a view (GET). @param {string} view @param {Record<string, string>} fields */
  async get(view, fields = {}) {
    return this.#ask(this.address(view, fields), { cache: "no-store" });
  }

  /** Send an order (POST). @param {string} order @param {Record<string, unknown>} fields */
  async post(order, fields = {}) {
    const body = JSON.stringify({ person: this.person, ...fields });
    return this.#ask(`/_control/${order}`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  }

  /** The URL of a view. @param {string} view @param {Record<string, string>} fields */
  address(view, fields = {}) {
    return `/_control/${view}?${new URLSearchParams(this.person ? { person: this.person, ...fields } : fields)}`;
  }

  async #ask(address, options) {
    let answer;
    try {
      const response = await fetch(address, options);
      answer = await response.json();
    } catch {
      throw new Refused("unreachable", "The workspace can't be reached.");
    }
    if (!answer.ok) throw new Refused(String(answer.error), String(answer.hint ?? ""));
    return answer;
  }
}
