/** Follows the workspace's event stream for as long as the page is open, and finds its way back whenever it breaks. */

const KINDS = [
  "message",
  "message_changed",
  "message_deleted",
  "reaction",
  "ephemeral",
  "thread",
  "status",
  "prompts",
  "presence",
  "channel",
  "person",
  "home",
];
const SHORTEST = 250;
const LONGEST = 5_000;

export class Feed {
  /**
   * @param {object} parts
   * @param {(after: string) => string} parts.address of the stream of changes after a cursor
   * @param {() => Promise<string | number>} parts.load reads everything anew and gives the cursor it was read at
   * @param {(kind: string, data: any) => void} parts.change takes one change
   * @param {(live: boolean) => void} parts.live hears when the stream comes and goes
   */
  constructor({ address, load, change, live }) {
    Object.assign(this, { address, load, change, live });
    this.pause = SHORTEST;
  }

  /** Never returns: load, follow, and after every break pause a little and begin again, so that nothing is missed. */
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
