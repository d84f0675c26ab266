/** The options and resolved settings of a session. */
import { type Log, logTo } from "../platform/log.ts";
import { type World, worldOf } from "../platform/world.ts";
import { dialectOf } from "../settings/endpoint.ts";
import { checkOptions } from "../errors/arguments.ts";
import type { SessionStore } from "../settings/session_store.ts";
import { OPTION_TYPES, type SessionOptions } from "../settings/options.ts";
import { refuseTokenCommand } from "../settings/removed.ts";
import { resolveSettings, type Settings } from "../settings/settings.ts";
import { ConfigError, typeError } from "../errors/errors.ts";
import type { Issuer } from "./stored_tokens.ts";

/**
 * The options of a session and the settings resolved from them. A change replaces the whole object.
 */
export class Configuration {
  /** `log` is `undefined` until the settings are read, because `AUTH_LOG` is read with them. */
  readonly world: World & { log?: Log | undefined };

  /**
   * Stores the options. Settings are read on first use.
   *
   * @param caller The function that received the options, for messages.
   * @param isDefault Whether this is the default session of the process, which uses a `.env` and
   * copies tokens to the environment.
   * @param resolved The settings, if they were read.
   * @param replaced Parts of the outside world that a test replaces.
   * @throws {TypeError} If an option has the wrong type.
   * @throws {ConfigError} `INVALID_SETTING` if an option cannot be used.
   */
  constructor(
    caller: string,
    readonly options: SessionOptions,
    readonly isDefault: boolean,
    private resolved?: Settings,
    replaced: Partial<World> = {},
  ) {
    const removed = "tokenCommand";
    refuseTokenCommand(removed, Reflect.get(Object(options), removed));
    checkOptions(caller, options, OPTION_TYPES);
    const { exportEnv = "none", store } = options;
    const methods = typeof store === "object" ? [store.read, store.lock] : [];
    if (methods.some((method) => typeof method !== "function")) {
      throw typeError(`${caller} takes an object with read() and lock() as "store"`);
    }
    if (!["access", "both", "none"].includes(exportEnv)) {
      throw new ConfigError(
        "INVALID_SETTING",
        `Cannot use exportEnv: it must be "access", "both" or "none"`,
        "correct it and try again",
      );
    }
    this.world = { ...worldOf(options), ...replaced };
    this.world.log = resolved && logTo(options.log);
  }

  /**
   * The settings, read on first use.
   * @throws {ConfigError} `INVALID_SETTING` if a setting cannot be used.
   */
  get settings(): Settings {
    if (this.resolved === undefined) {
      this.resolved = resolveSettings(this.options, this.isDefault);
      this.world.log = logTo(this.options.log);
      this.#logSettings(this.resolved);
    }
    return this.resolved;
  }

  /** Whether the settings were read. */
  get isRead(): boolean {
    return this.resolved !== undefined;
  }

  /** The tokens that are copied to the process environment. */
  get exportEnv(): "access" | "both" | "none" {
    return this.isDefault && !this.isLent ? this.options.exportEnv ?? "access" : "none";
  }

  /** The app client and the provider of this account. */
  get issuer(): Issuer {
    const { settings } = this;
    const provider = URL.parse(settings.endpoint ?? "")?.origin;
    return { clientId: settings.text("clientId"), provider };
  }

  /** The object that stores the session, if the program passed its own store. */
  get ownStore(): SessionStore | undefined {
    const { store } = this.options;
    return typeof store === "object" ? store : undefined;
  }

  /** Whether the option `token` lends the tokens. If so, the session is in memory only. */
  get isLent(): boolean {
    return this.settings.isLent;
  }

  /**
   * Returns the same options with the settings read again, because the `.env` may have been edited.
   * Another `.env` is used only if there was none before.
   */
  reread(): Configuration {
    const settings = resolveSettings(this.options, this.isDefault, this.settings);
    const next = this.#with(this.options, settings);
    next.#logSettings(settings, this.world.log && this.resolved);
    return next;
  }

  /** Logs where the settings came from, unless nothing has changed since `earlier`. */
  #logSettings(settings: Settings, earlier?: Settings): void {
    const { log } = this.world;
    if (log === undefined) return;
    const { envFile, file: { exists }, origins } = settings;
    const isSame = earlier?.file.exists === exists &&
      JSON.stringify(earlier.origins) === JSON.stringify(origins);
    if (!isSame) {
      log({ event: "settings", ...(envFile !== undefined && { file: envFile }), exists, origins });
    }
  }

  /**
   * Returns the same configuration with `exportEnv: "none"`, because another session uses the
   * process environment from now on.
   */
  outOfEnvironment(): Configuration {
    const options = { ...this.options, exportEnv: "none" } as const;
    return this.#with(options, this.resolved);
  }

  #with(options: SessionOptions, settings: Settings | undefined): Configuration {
    return new Configuration("configure()", options, this.isDefault, settings, this.world);
  }

  /**
   * Whether another configuration may use the tokens of this one: it must have the same provider,
   * client, file, store and option `token`.
   */
  isSameAccount(other: Configuration): boolean {
    return this.ownStore === other.ownStore && this.options.token === other.options.token &&
      identityOf(this) === identityOf(other);
  }
}

/** The settings that select the account, besides the endpoint. */
const ACCOUNT = ["clientId", "userPoolId", "store", "storeKey"] as const;

function identityOf({ settings, ownStore }: Configuration): string {
  const texts = ACCOUNT.map((name) => settings.text(name));
  // The store keeps one session for each user name.
  const isInStore = settings.text("store") !== undefined && ownStore === undefined;
  const user = isInStore ? settings.text("username") : undefined;
  const endpoint = [settings.endpoint, dialectOf(settings)];
  const { envFile, trust: { isFound, user: owner, withheld } } = settings;
  // A change of trust counts as another account, because a host may no longer receive the tokens,
  // or the tokens may no longer be used.
  const trust = [isFound, owner, withheld !== undefined];
  return JSON.stringify([envFile, endpoint, texts, user, trust]);
}
