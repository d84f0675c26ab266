import { type AuthError, sentenceOf } from "../errors/errors.ts";
import type { Waiters } from "../provider/token_request.ts";
import type { Configuration } from "./configuration.ts";
import { EnvStore } from "./env_store.ts";
import { EnvironmentMirror, firstTokens } from "./environment_mirror.ts";
import { StoreOnDemand } from "./cluster/store_on_demand.ts";
import { Notices } from "./notices.ts";
import { whyNot } from "./plan.ts";
import type { Reason, RefreshingSession } from "./refresh.ts";
import { MEMORY_ONLY, type SharedStore, type StoreLock } from "./shared_store.ts";
import { isGoodFor, type Tokens } from "../values/tokens.ts";
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
    const { envFile, isInStore } = this.#configuration;
    return this.#store ??= isInStore
      ? new StoreOnDemand(() => this.#configuration, this.notices)
      : envFile === undefined
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

  /** Lets the store look for news, where that takes a request: `catchUp()` brings them. */
  sync(): Promise<void> | undefined {
    const tokens = tokensOf(this.peek());
    const isGood = tokens !== undefined && isGoodFor(tokens, this.#configuration.world, 0);
    return this.store.sync?.(!isGood);
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

  async saveThen(transition: (now: Holding) => Holding, lock: StoreLock): Promise<boolean> {
    return await this.whileSaving(async () => {
      const news = await this.store.save(() => tokensOf(transition(this.peek())), lock, false);
      if (news.kind === "same") this.change(transition);
      else this.become(afterNews(this.peek(), news, this.#endedElsewhere()));
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

  /** Brings new tokens for all callers in this process. Loaded on demand: a session with a good token needs none. */
  async renew(
    reason: Reason,
    waiters: Waiters & { readonly signal: AbortSignal },
  ): Promise<Tokens> {
    if (!this.#configuration.isByCommand) {
      return await (await import("./refresh.ts")).refreshOnce(this, reason, waiters);
    }
    const { renewByCommand } = await import("./cluster/token_command.ts");
    return await renewByCommand(this, reason, waiters);
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
    const away = this.store.problem;
    const holding = this.peek();
    // Whether there is a session, and a later one, only the store knows.
    if (away && (holding.kind === "none" || !isGoodFor(holding.tokens, world, 0))) return away;
    const { problem } = settings.file;
    const note = problem
      ? sentenceOf(problem)
      : this.notices.get("stored") ?? this.notices.get("environment") ??
        this.notices.get("store empty");
    return whyNot(holding, world, note);
  }

  #endedElsewhere(): Ending {
    const note = this.notices.get("stored");
    const place = this.#configuration.place ?? "the store";
    const sentence = note === undefined
      ? "There is no session any more: it was ended outside this process, by a logout or by taking " +
        `its lines out of ${place}; run login()`
      : `There is no session (${note}); run login() first`;
    return { code: "NO_SESSION", sentence };
  }
}
