import { ConfigError } from "../../errors/errors.ts";
import { displayPath } from "../../files/paths.ts";
import { hostAndPort } from "../../platform/transport.ts";
import { EnvVault } from "./env_vault.ts";
import { type OpenedStore, StoreVault } from "./store_vault.ts";
import { memoryVault, OWN_PLACE, type StoredSession, type Vault } from "./vault.ts";

/** Opens the vault that the settings select. */
export function openVault(session: StoredSession): Vault {
  const { isLent, ownStore: store, settings } = session.configuration;
  const address = settings.text("store");
  const { tokenFile, trust: { withheld } } = settings;
  if (isLent) return memoryVault();
  if (store) return new StoreVault(OWN_PLACE, session, () => Promise.resolve({ store }));
  if (address !== undefined) {
    const url = URL.parse(address);
    const place = { store: url ? hostAndPort(url) : "an unknown address" };
    return new StoreVault(place, session, () => openRedis(session));
  }
  if (withheld) return memoryVault(() => unsaved(session));
  return tokenFile === undefined ? memoryVault() : new EnvVault(tokenFile, session);
}

/** Few sessions are in Redis, so its code is loaded by the first call that needs the store. */
async function openRedis({ configuration, notices }: StoredSession): Promise<OpenedStore> {
  const { settingsStore } = await import("../../redis/settings_store.ts");
  const { settings } = configuration;
  const { store, host, account, isOpen } = await settingsStore(settings);
  if (isOpen) {
    notices.set({
      STORE_NOT_ENCRYPTED: {
        problem: `the tokens are not encrypted in the store at ${host}`,
        fix: "set AUTH_STORE_KEY on all machines to the same key, from openssl rand -base64 32",
      },
    });
  }
  return { store, owner: { account } };
}

/** Makes the error for a session that is not saved, because its `.env` was found by search. */
function unsaved({ configuration: { settings } }: StoredSession): ConfigError {
  const problem = `nothing is saved in ${displayPath(settings.envFile)}, which was found by search`;
  return new ConfigError("ENV_FILE", problem, settings.trust.withheld?.fix ?? "");
}
