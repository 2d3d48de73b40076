/** Follows the workspace's event stream while the page is open, and reconnects after every break. */

const SHORTEST = 250;
const LONGEST = 5_000;

export class Feed {
  /**
   * @param {object} parts
   * @param {(after: string, signal: AbortSignal) => Promise<Response>} parts.open the event stream after a cursor
   * @param {() => Promise<string | number>} parts.load reloads everything and gives the cursor of that state
   * @param {(kind: string, data: any) => void} parts.change applies one change
   * @param {(live: boolean) => void} parts.live called when the stream opens or closes
   */
  constructor({ open, load, change, live }) {
    Object.assign(this, { open, load, change, live });
    this.pause = SHORTEST;
  }

  /** Load, follow, and after every break pause and start again, so that no change is missed. Ends where the key is none. */
  async run() {
    for (;;) {
      try {
        const cursor = await this.load();
        await this.#follow(String(cursor));
      } catch (fault) {
        if (fault.code === "no_key") throw fault;
        if (fault.code !== "unreachable") console.error(fault);
      }
      this.live(false);
      await new Promise((done) => setTimeout(done, this.pause));
      this.pause = Math.min(this.pause * 2, LONGEST);
    }
  }

  async #follow(cursor) {
    const left = new AbortController();
    const leave = () => left.abort();
    addEventListener("pagehide", leave);
    try {
      const { body } = await this.open(cursor, left.signal);
      for await (const [kind, data] of events(body)) {
        if (kind === "reset") return;
        if (kind === "ready") {
          this.pause = SHORTEST;
          this.live(true);
        } else this.change(kind, data);
      }
    } finally {
      removeEventListener("pagehide", leave);
      left.abort();
    }
  }
}

/** The events of a stream of the workspace, as [kind, data]; EventSource would send no key. @param {ReadableStream} body */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch(() => ({ done: true })); // a broken connection is an end, too
    if (done) return;
    const whole = (text + value).split("\n\n");
    text = whole.pop();
    for (const event of whole) {
      const fields = Object.fromEntries(event.split("\n").map((line) => line.split(/: (.*)/s)));
      yield [fields.event, JSON.parse(fields.data)];
    }
  }
}
