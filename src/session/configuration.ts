import { checkOptions, type SessionOptions } from "../settings/options.ts";
import { ConfigError } from "../values/errors.ts";
import type { Secret } from "../values/secret.ts";
import { resolveSettings, type Settings } from "../settings/settings.ts";
import { spanText } from "../values/wording.ts";
import { type World, worldOf } from "../runtime/world.ts";

/** What the parts of a session share: its options, settings, the outside world and the warnings to show. */
export class SessionContext {
  /** Whether this is the process's default session, which has a `.env` and mirrors to the environment. */
  readonly isDefault: boolean;
  /** What the user should know, by cause, so that each is said once. */
  readonly warnings = new Map<string, string>();
  /** What this session put into the process environment, by variable. */
  readonly mirrored = new Map<string, Secret>();
  /** The provider's clock minus this machine's, in milliseconds, once an answer told. */
  clockOffsetMs: number | undefined;
  /** The name that the user last logged in with. */
  loginName: string | undefined;
  #options: SessionOptions;
  #world: World;
  #settings: Settings | undefined;
  #retired = false;

  /** @throws {TypeError | ConfigError} If an option or setting cannot be used. */
  constructor(caller: string, options: SessionOptions, isDefault: boolean) {
    checkOptions(caller, options);
    const { exportEnv = "none" } = options;
    if (!["access", "both", "none"].includes(exportEnv)) {
      throw new ConfigError(
        "INVALID_SETTING",
        `Cannot use exportEnv: it must be "access", "both" or "none"; correct it and try again`,
      );
    }
    this.#options = options;
    this.#world = worldOf(options);
    this.isDefault = isDefault;
  }

  get options(): SessionOptions {
    return this.#options;
  }

  get world(): World {
    return this.#world;
  }

  /** The settings, read on first use. @throws {ConfigError} `INVALID_SETTING` if one cannot be used. */
  get settings(): Settings {
    return this.#settings ??= resolveSettings(this.#options, this.isDefault);
  }

  /** Whether the settings were read. */
  get isRead(): boolean {
    return this.#settings !== undefined;
  }

  /** Takes over the options of another context of the same provider, client and file. */
  become(other: SessionContext): void {
    this.#options = other.#options;
    this.#world = other.#world;
    this.#settings = other.#settings;
  }

  /** Absolute path of the `.env`; `undefined`: memory only. */
  get envFile(): string | undefined {
    return this.settings.envFile;
  }

  /** Reads the settings again: the `.env` may have been edited. Its place stays. */
  reload(): void {
    this.#settings = resolveSettings(this.#options, this.isDefault, this.#settings);
  }

  /** Lets the next use read the settings, and with them the tokens, as they are then. */
  forget(): void {
    this.#settings = undefined;
  }

  /** Notes how far this machine's clock is from the provider's, and says so from a minute on. */
  learnClock(offsetMs: number | undefined): void {
    if (offsetMs === undefined) return;
    this.clockOffsetMs = offsetMs;
    this.warnings.delete("clock");
    if (Math.abs(offsetMs) <= 60_000) return;
    this.warnings.set(
      "clock",
      `this computer's clock is ${spanText(Math.abs(offsetMs))} ${
        offsetMs < 0 ? "ahead of" : "behind"
      } the ` +
        "provider's; set it right",
    );
  }

  /**
   * Takes a token that seems to come from the future for what it is, the token of a clock that is
   * behind, unless the provider told the time itself.
   *
   * @param iat When the token was issued by the provider's clock, seconds since 1970.
   */
  learnIssued(iat: number | undefined): void {
    const ahead = (iat ?? 0) * 1_000 - this.#world.now();
    if (ahead > 60_000 && this.clockOffsetMs === undefined) this.learnClock(ahead);
  }

  /** Says that another session took the place of this one: it mirrors no more. */
  retire(): void {
    this.#retired = true;
  }

  /** Which tokens are mirrored to the process environment. */
  get exportEnv(): "access" | "both" | "none" {
    return this.isDefault && !this.#retired ? this.#options.exportEnv ?? "access" : "none";
  }
}
