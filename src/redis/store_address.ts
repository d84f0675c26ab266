import { ConfigError } from "../errors/errors.ts";
import { hostAndPort, isLoopback } from "../platform/transport.ts";

/** The checked address of a store. */
export interface StoreAddress {
  /** The address without the account. Never shown, because it may contain a password. */
  readonly url: URL;
  /** Host and port, for messages. */
  readonly host: string;
  /** The name after the `#`; `undefined` if there is none. */
  readonly account: string | undefined;
  /** Whether anyone who can read the store can read the tokens. */
  readonly isOpen: boolean;
}

/**
 * @param isEncrypted Whether a key encrypts the record.
 * @throws {ConfigError} `INVALID_SETTING` if the address cannot be used.
 */
export function storeAddress(text: string, isEncrypted: boolean): StoreAddress {
  const url = urlIn(text);
  if (url === undefined) {
    throw invalid(
      "it is not an address such as rediss://user:password@host:6379/0#account",
      "correct the address and try again; write a literal % as %25",
    );
  }
  const host = hostAndPort(url);
  const isOpen = !isEncrypted && !isLoopback(url.hostname);
  if (isOpen && url.protocol === "redis:") {
    throw invalid(
      `the tokens would be sent to ${host} and stored there without encryption`,
      "set AUTH_STORE_KEY on all machines to the same key, from openssl rand -base64 32",
    );
  }
  const account = decodeURIComponent(url.hash.slice(1)) || undefined;
  url.hash = "";
  return { url, host, account, isOpen };
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
  const action = "Cannot use the address of the store (AUTH_STORE)";
  return new ConfigError("INVALID_SETTING", `${action}: ${problem}`, fix);
}
