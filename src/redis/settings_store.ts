import type { SessionStore } from "../settings/session_store.ts";
import type { Settings } from "../settings/settings.ts";
import { loadClient } from "./connection.ts";
import { redisStore } from "./redis_store.ts";
import { storeAddress } from "./store_address.ts";

/** The store of `AUTH_STORE`. */
export interface SettingsStore {
  readonly store: SessionStore;
  /** Host and port, for messages. */
  readonly host: string;
  /**
   * The account of the session: the name after the `#`, or else `USERNAME`; `undefined` if neither
   * is set.
   */
  readonly account: string | undefined;
  /** Whether anyone who can read the store can read the tokens. */
  readonly isOpen: boolean;
}

/**
 * Opens the store of `AUTH_STORE` for the provider, the client and the account of these settings.
 * Loads the client first: on a busy machine, that may take longer than a request.
 *
 * @throws {ConfigError} `INVALID_SETTING` or `PACKAGE_UNAVAILABLE` if the store cannot be used.
 */
export async function settingsStore(settings: Settings): Promise<SettingsStore> {
  const key = settings.secret("storeKey")?.reveal();
  const address = storeAddress(settings.text("store") ?? "", key !== undefined);
  const { url, host, isOpen } = address;
  const account = address.account ?? settings.text("username");
  const provider = URL.parse(settings.endpoint ?? "")?.host;
  const name = [provider, settings.text("clientId"), account]
    .map((part) => encodeURIComponent(part ?? "")).join(":");
  const { timeoutMs } = settings;
  await loadClient(host);
  return { store: redisStore(url, { key, name, timeoutMs }), host, account, isOpen };
}
