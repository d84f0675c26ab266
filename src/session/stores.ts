import { displayPath } from "../platform/paths.ts";
import { hostAndPort } from "../settings/permissions.ts";
import { EnvStore } from "./env_store.ts";
import { notSaved } from "./notices.ts";
import {
  memoryStore,
  NOTHING,
  OWN_PLACE,
  placeText,
  type StoredSession,
  type StorePlace,
  type TokenStore,
} from "./store.ts";

/** Opens the store that the settings select. To support a new kind of store, add it here. */
export function openStore(session: StoredSession): TokenStore {
  const { isLent, ownStore, settings } = session.configuration;
  const address = settings.text("store");
  if (isLent) return memoryStore();
  if (ownStore) {
    return onDemand(OWN_PLACE, session, async () => {
      const { OwnStore } = await import("./own_store.ts");
      return new OwnStore(ownStore, session);
    });
  }
  if (address !== undefined) {
    const url = URL.parse(address);
    const place = { store: url ? hostAndPort(url) : "an unknown address" };
    return onDemand(place, session, async () => {
      const { RedisStore } = await import("./redis/redis_store.ts");
      return await RedisStore.open(session);
    });
  }
  if (settings.trust.withheld) return unsaved(session);
  const { tokenFile } = settings;
  return tokenFile === undefined ? memoryStore() : new EnvStore(tokenFile, session);
}

/** Keeps a session in memory only, because the user has not named the `.env` that was found. */
function unsaved({ configuration, notices }: StoredSession): TokenStore {
  const memory = memoryStore();
  return {
    ...memory,
    update: (wait, change) =>
      memory.update(wait, async (now, lock) => {
        const write = await change(now, lock);
        const { envFile, trust: { withheld } } = configuration.settings;
        const problem = `${displayPath(envFile)} was found automatically, not specified`;
        const fix = withheld?.fix;
        if (write?.tokens) notices.replace({ NOT_SAVED: notSaved({ problem, fix }) });
        return write;
      }),
  };
}

/**
 * A store outside this process. The first call that needs the store loads its code and checks its
 * address.
 */
function onDemand(
  place: StorePlace,
  { notices }: StoredSession,
  open: () => Promise<TokenStore>,
): TokenStore {
  let store: TokenStore | undefined;
  let opening: Promise<TokenStore> | undefined;
  async function opened(): Promise<TokenStore> {
    opening ??= open();
    try {
      return store = await opening;
    } catch (error) {
      // The next call tries again.
      opening = undefined;
      throw error;
    }
  }
  notices.set(
    "STORE_UNREAD",
    `${placeText(place)} has not been read yet: the first call reads it`,
  );
  return {
    place,
    peek: () => store?.peek() ?? NOTHING,
    look: async (wait) => await (await opened()).look?.(wait),
    update: async (wait, change) => await (await opened()).update(wait, change),
    refusal: (login) => store?.refusal?.(login),
    probe: async (signal) => await (await opened()).probe?.(signal),
  };
}
