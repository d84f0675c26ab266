import { Connection } from "../../src/session/redis/connection.ts";
// Loaded here so that a session that needs it takes no turns for that.
import "../../src/session/redis/redis_store.ts";
import { type EventKind, nameOf } from "./gates.ts";
import type { SharedPlace } from "./gate_store.ts";
import { tokenName } from "./provider.ts";
import { RedisScript, type Words } from "./redis_script.ts";

/** A Redis server that does what the script of the client would do, when the explorer lets it. */
export class GateRedis {
  readonly #place: SharedPlace;
  readonly #script = new RedisScript();
  /** All questions that were answered, the first one first. */
  #answered = "";

  constructor(place: SharedPlace) {
    this.#place = place;
  }

  /** What is kept from before the sessions began. */
  keep(data: string): void {
    this.#script.kept = { number: 1, id: "first", data };
  }

  /** Lets sessions whose store has the address of `addressOf()` reach this server in place of a real one. */
  use(): void {
    const connect = (url: URL) =>
      Promise.resolve(this.#connection(url.username.charCodeAt(0) - 65));
    Object.assign(Connection, { to: connect });
  }

  /** Its answers tell the time: only who asked the same in the same order was told the same. */
  get contents(): unknown {
    return this.#answered;
  }

  static addressOf(session: number): string {
    return `redis://${nameOf(session)}@127.0.0.1:1/0`;
  }

  #connection(session: number): unknown {
    return {
      run: (_: string, __: string[], words: string[], ___: number, signal?: AbortSignal) =>
        this.#run(session, words as unknown as Words, signal),
    };
  }

  async #run(session: number, words: Words, signal: AbortSignal | undefined): Promise<unknown> {
    const { gates } = this.#place;
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    signal?.addEventListener("abort", () => aborted.reject(signal.reason));
    const answered = (async () => {
      // What was sent arrives, whoever waits for the answer.
      await this.#pass(session, "question arrives", { unseen: [""] });
      const follows = gates.last;
      const answer = this.#answer(session, words);
      if (signal?.aborted) return undefined;
      await this.#pass(session, "question is answered", { follows });
      return answer;
    })();
    gates.activity++;
    return await Promise.race([answered, aborted.promise]);
  }

  async #pass(session: number, kind: string, kindOfEvent?: EventKind): Promise<void> {
    const { gates, provider } = this.#place;
    if (!provider.isOpen) await gates.wait(session, kind, undefined, undefined, kindOfEvent);
  }

  #answer(session: number, words: Words): unknown {
    const { gates, provider, writes } = this.#place;
    this.#answered += `${gates.last}; `;
    gates.touch("store", "written");
    gates.learn(this.#answered);
    const done = this.#script.run(words, provider.now);
    if (done.hasWritten) {
      const lines: { ACCESS_TOKEN?: string } = JSON.parse(this.#script.kept.data || "{}");
      const name = lines.ACCESS_TOKEN === undefined ? undefined : tokenName(lines.ACCESS_TOKEN);
      writes.push({ by: session, login: name?.login, text: name?.text ?? "none" });
    }
    if (done.isHolder) this.#place.holder = session;
    // The holder before may be at work still.
    if (done.isAfterLateHolder) provider.faults.add("busy");
    if (done.hasFreed) this.#place.holder = undefined;
    return done.answer;
  }
}
