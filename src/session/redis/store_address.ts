import { isLoopback } from "../../platform/transport.ts";
import { hostAndPort, mayReach, scriptCommand } from "../../settings/permissions.ts";
import { ConfigError, missingPermission } from "../../errors/errors.ts";
import type { Secret } from "../../platform/secret.ts";
import type { Settings } from "../../settings/settings.ts";

/** The checked address of a store, and the session's record in that store. */
export interface StoreAddress {
  /** The full address, which is never shown because it may contain a password. */
  readonly url: URL;
  /** Host and port, for messages. */
  readonly host: string;
  /** The name of the record for this provider, client and account. */
  readonly name: string;
  /**
   * The account of the session: the name after the `#`, or else `USERNAME`; `undefined` if neither
   * is set.
   */
  readonly account: string | undefined;
  readonly key: Secret | undefined;
  /** Whether anyone who can read the store can read the tokens. */
  readonly isOpen: boolean;
}

/** @throws {ConfigError} `INVALID_SETTING` or `PERMISSION` if the address cannot be used. */
export function storeAddress(settings: Settings): StoreAddress {
  const url = urlIn(settings.text("store") ?? "");
  if (url === undefined) {
    throw invalid(
      "it is not an address such as rediss://user:password@host:6379/0#account",
      "correct the address (write a literal % as %25) and try again",
    );
  }
  const host = hostAndPort(url);
  const key = settings.secret("storeKey");
  const isOpen = key === undefined && !isLoopback(url.hostname);
  if (isOpen && url.protocol === "redis:") {
    throw invalid(
      `the tokens would be sent to ${host} and stored there without encryption`,
      "set AUTH_STORE_KEY to the output of platform-auth store-key, on all machines",
    );
  }
  if (!mayReach(url)) {
    const action = `use AUTH_STORE (store) at ${host}`;
    throw missingPermission(action, `--allow-net=${host}`, `run: ${scriptCommand(settings)}`);
  }
  const account = decodeURIComponent(url.hash.slice(1)) || settings.text("username");
  url.hash = "";
  const parts = [URL.parse(settings.endpoint ?? "")?.host, settings.text("clientId"), account];
  const name = parts.map((part) => encodeURIComponent(part ?? "")).join(":");
  // The 2 is the version of the record's format. The braces make Redis keep all keys of a session
  // on one node of a cluster.
  return { url, host, name: `platform-auth:2:{${name}}`, account, key, isOpen };
}

function urlIn(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || !/^rediss?:$/.test(url.protocol)) return undefined;
  // For schemes like `redis:`, the URL parser also accepts text such as %20 as a host.
  const isHost = /^([\w.-]+|\[[\da-f:.]+\])$/i.test(url.hostname);
  if (!isHost || url.search !== "" || !/^(\/\d*)?$/.test(url.pathname)) return undefined;
  try {
    // Each part is decoded on its own: two halves of a character would be valid together.
    [url.username, url.password, url.hash].forEach(decodeURIComponent);
    return url;
  } catch {
    return undefined;
  }
}

function invalid(problem: string, fix: string): ConfigError {
  return new ConfigError("INVALID_SETTING", `Cannot use AUTH_STORE (store): ${problem}`, fix);
}
