/** Follows the workspace's event stream while the page is open, and reconnects after every break. */

const KINDS = [
  "message",
  "message_changed",
  "message_deleted",
  "reaction",
  "ephemeral",
  "thread",
  "status",
  "session",
  "prompts",
  "presence",
  "channel",
  "person",
  "home",
  "modal",
  "modal_answered",
  "clock",
];
const SHORTEST = 250;
const LONGEST = 5_000;

export class Feed {
  /**
   * @param {object} parts
   * @param {(after: string) => string} parts.address of the event stream after a cursor
   * @param {() => Promise<string | number>} parts.load reloads everything and gives the cursor of that state
   * @param {(kind: string, data: any) => void} parts.change applies one change
   * @param {(live: boolean) => void} parts.live called when the stream opens or closes
   */
  constructor({ address, load, change, live }) {
    Object.assign(this, { address, load, change, live });
    this.pause = SHORTEST;
  }

  /** Load, follow, and after every break pause and start again, so that no change is missed. Never returns. */
  async run() {
    for (;;) {
      try {
        const cursor = await this.load();
        await this.#follow(String(cursor));
      } catch (fault) {
        if (fault.code !== "unreachable") console.error(fault);
      }
      this.live(false);
      await new Promise((done) => setTimeout(done, this.pause));
      this.pause = Math.min(this.pause * 2, LONGEST);
    }
  }

  #follow(cursor) {
    return new Promise((ended) => {
      const source = new EventSource(this.address(cursor));
      const end = () => {
        source.close();
        removeEventListener("pagehide", end);
        ended();
      };
      source.addEventListener("error", end);
      source.addEventListener("reset", end);
      addEventListener("pagehide", end);
      source.addEventListener("ready", () => {
        this.pause = SHORTEST;
        this.live(true);
      });
      for (const kind of KINDS) {
        source.addEventListener(kind, (event) => this.change(kind, JSON.parse(event.data)));
      }
    });
  }
}
