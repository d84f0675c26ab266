import { type AuthError, sentenceOf } from "../values/errors.ts";
import type { Configuration } from "./configuration.ts";
import { EnvStore } from "./env_store.ts";
import { EnvironmentMirror, firstTokens } from "./environment_mirror.ts";
import { Notices } from "./notices.ts";
import { whyNot } from "./plan.ts";
import type { RefreshingSession } from "./refresh.ts";
import { MEMORY_ONLY, type SharedStore, type StoreLock } from "./shared_store.ts";
import { afterNews, type Ending, type Holding, holdingOf, tokensOf } from "./state.ts";

/** What a session holds. Memory comes first; the store and the process environment follow it. */
export class SessionMemory implements RefreshingSession {
  readonly notices = new Notices();
  readonly #mirror = new EnvironmentMirror();
  #configuration: Configuration;
  #store: SharedStore | undefined;
  /** The state; `undefined`: not read yet. */
  #holding: Holding | undefined;
  /** Saves under way. Until they are done the store is behind, so that what it holds is no news. */
  #saves = 0;

  constructor(configuration: Configuration) {
    this.#configuration = configuration;
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  get store(): SharedStore {
    const { envFile, isByCommand } = this.#configuration;
    return this.#store ??= envFile === undefined || isByCommand
      ? MEMORY_ONLY
      : new EnvStore(envFile, () => this.#configuration, this.notices);
  }

  peek(): Holding {
    if (this.#holding === undefined) {
      const first = firstTokens(this.#configuration, this.notices, this.store.read());
      this.#holding = holdingOf(first);
      if (first) this.#mirror.show(first, this.#configuration);
    }
    return this.#holding;
  }

  catchUp(): Holding {
    const now = this.peek();
    if (this.#saves > 0) return now;
    const news = this.store.news();
    return this.become(afterNews(now, news, this.#endedElsewhere()));
  }

  change(transition: (now: Holding) => Holding): Holding {
    return this.become(transition(this.peek()));
  }

  /** Goes to another state, and the process environment with it. */
  become(next: Holding): Holding {
    const before = this.#holding;
    this.#holding = next;
    if (before === next) return next;
    const tokens = tokensOf(next);
    if (tokens) this.#mirror.show(tokens, this.#configuration);
    else this.#mirror.clear(before && tokensOf(before), this.#configuration);
    return next;
  }

  async saveNow(lock: StoreLock, over: boolean): Promise<boolean> {
    return await this.whileSaving(async () => {
      const news = await this.store.save(() => tokensOf(this.peek()), lock, over);
      this.become(afterNews(this.peek(), news, this.#endedElsewhere()));
      return news.kind === "same";
    });
  }

  /** Does what ends in a save, and takes nothing in the store for news until then. */
  async whileSaving<T>(work: () => Promise<T>): Promise<T> {
    this.#saves++;
    try {
      return await work();
    } finally {
      this.#saves--;
    }
  }

  /** Takes over the options of another configuration of the same provider, client and file. */
  replaceConfiguration(configuration: Configuration): void {
    const before = this.#configuration.exportEnv;
    this.#configuration = configuration;
    if (before === configuration.exportEnv || this.#holding === undefined) return;
    this.#mirror.withdraw();
    this.#mirror.show(tokensOf(this.#holding), configuration);
  }

  /** Leaves the process environment to another session. */
  leaveEnvironment(): void {
    this.#mirror.withdraw();
    this.#configuration = this.#configuration.outOfEnvironment();
  }

  whyNot(): AuthError {
    const { settings, world } = this.#configuration;
    const { problem } = settings.file;
    const note = problem
      ? sentenceOf(problem)
      : this.notices.get("stored") ?? this.notices.get("environment");
    return whyNot(this.peek(), world, note);
  }

  #endedElsewhere(): Ending {
    const note = this.notices.get("stored");
    const place = this.#configuration.envFile ?? "the store";
    const sentence = note === undefined
      ? "There is no session any more: it was ended outside this process, by a logout or by taking " +
        `its lines out of ${place}; run login()`
      : `There is no session (${note}); run login() first`;
    return { code: "NO_SESSION", sentence };
  }
}
