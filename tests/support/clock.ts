/**
 * The provider's clock, this machine's wall clock and its monotonic clock. Only a test, or a pause of
 * the client, moves them.
 */
export class Clock {
  #real = Date.UTC(2025, 5, 1, 12);
  #offset = 0;
  #ticks = 0;
  #skew = 0;
  /** The pauses so far, in milliseconds. */
  readonly pauses: number[] = [];

  provider = (): number => this.#real + this.#skew;
  now = (): number => this.#real + this.#offset;
  monotonic = (): number => this.#ticks;

  /** A pause takes no real time: it only advances these clocks. */
  sleep = (ms: number): Promise<void> => {
    this.pauses.push(ms);
    this.advance(ms / 1_000);
    return Promise.resolve();
  };

  /** This machine's clocks as options of a session. */
  get options(): Pick<Clock, "now" | "monotonic" | "sleep"> {
    const { now, monotonic, sleep } = this;
    return { now, monotonic, sleep };
  }

  /** Lets time pass on all clocks. */
  advance(seconds: number): void {
    this.#real += seconds * 1_000;
    this.#ticks += seconds * 1_000;
  }

  /**
   * From now on, another machine of the provider responds, whose clock differs by the given number
   * of seconds.
   */
  skew(seconds: number): void {
    this.#skew = seconds * 1_000;
  }

  /** Sets the wall clock forward or back, as a user can. */
  jump(seconds: number): void {
    this.#offset += seconds * 1_000;
  }

  /** Lets the computer sleep: time passes, but the monotonic clock stops. */
  suspend(seconds: number): void {
    this.#real += seconds * 1_000;
  }
}
