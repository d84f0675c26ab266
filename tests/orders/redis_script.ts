/** What the client asks a Redis server, in the order of its script's words. */
export type Words = readonly [
  number: string,
  id: string,
  data: string,
  keepMs: string,
  owner: string,
  lockMs: string,
  replacesUpTo: string,
];

/** Does what the client's script does in a Redis server, without one. Entries never end here. */
export class RedisScript {
  kept = { number: 0, id: "", data: "" };
  #given = 0;
  #lock: { owner: string; endsAt: number } | undefined;

  /**
   * @param now The server's clock, milliseconds since 1970.
   * @returns The script's answer; whether it wrote, freed the lock, or gave the lock of a holder that is late.
   */
  run([number, id, data, , owner, lockMs, replacesUpTo]: Words, now: number): {
    readonly answer: readonly (string | number)[];
    readonly hasWritten: boolean;
    readonly hasFreed: boolean;
    readonly isHolder: boolean;
    readonly isAfterLateHolder: boolean;
  } {
    const hasWritten = Number(number) > this.kept.number &&
      this.kept.number <= Number(replacesUpTo);
    if (hasWritten) this.kept = { number: Number(number), id, data };
    const next = Math.max(this.#given + 1_000, this.kept.number + 1_000, Math.floor(now * 1_000));
    const held = this.#lock && this.#lock.endsAt > now ? this.#lock.owner : undefined;
    const isAfterLateHolder = held === undefined && this.#lock !== undefined;
    const isForFree = owner === "" || held === undefined || held === owner;
    const hasFreed = owner !== "" && lockMs === "0" && held === owner;
    const isHolder = owner !== "" && lockMs !== "0" && isForFree;
    if (hasFreed) this.#lock = undefined;
    if (isHolder) {
      this.#lock = { owner, endsAt: now + Number(lockMs) };
      this.#given = next;
    }
    const { kept } = this;
    return {
      answer: [`${kept.number}`, kept.id, kept.data, `${next}`, isHolder ? 1 : 0],
      hasWritten,
      hasFreed,
      isHolder,
      isAfterLateHolder: isHolder && isAfterLateHolder,
    };
  }
}
