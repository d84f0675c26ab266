import { endpointText } from "../../provider/endpoint.ts";
import { isLoopback } from "../../platform/transport.ts";
import { hostAndPort, scriptCommand } from "../../settings/permissions.ts";
import { ConfigError, missingPermission } from "../../errors/errors.ts";
import type { Settings } from "../../settings/settings.ts";
import type { Secret } from "../../platform/secret.ts";
import type { Configuration } from "../configuration.ts";

/** The address of the store and the entry of a session in it, checked. */
export interface StoreAddress {
  /** Not shown: it may contain a password. */
  readonly url: URL;
  /** Host and port, for messages. */
  readonly host: string;
  /** The name of the entry of this provider, client and account. */
  readonly name: string;
  /** The account of the session; `undefined`: that of machines that name no account. */
  readonly account: string | undefined;
  readonly key: Secret | undefined;
  /** Whether anyone who can read the store can read the tokens. */
  readonly isOpen: boolean;
}

/** @throws {ConfigError} `INVALID_SETTING`, `PERMISSION`: nothing was sent. */
export function storeAddress({ options, settings }: Configuration): StoreAddress {
  const url = URL.parse(settings.text("store") ?? "");
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === "") {
    throw invalid(
      "it is not an address such as redis://127.0.0.1:6379 or rediss://user:password@host",
    );
  }
  if (url.search !== "") {
    const fix = "write user and password before the host, as in rediss://user:password@host";
    throw invalid("it has a query (?…), which is not used", fix);
  }
  if (!/^(\/\d*)?$/.test(url.pathname)) {
    throw invalid("its path is not the number of a database, such as /0");
  }
  const { name: account } = storeAccount(settings);
  [url.username, url.password].forEach(decoded);
  const host = hostAndPort(url);
  const key = settings.secret("storeKey");
  const isPrivate = isLoopback(url.hostname);
  if (key === undefined && !isPrivate && url.protocol === "redis:") {
    throw invalid(
      `the tokens would be sent to ${host} and stored there without encryption`,
      "set AUTH_STORE_KEY to the output of platform-auth store-key, on all machines",
    );
  }
  if (Deno.permissions.querySync({ name: "net", host }).state !== "granted") {
    const command = scriptCommand(settings, endpointText(options, settings));
    throw missingPermission(`use AUTH_STORE (store) at ${host}`, `run: ${command}`);
  }
  const provider = URL.parse(endpointText(options, settings) ?? "")?.host;
  url.hash = "";
  const parts = [provider, settings.text("clientId"), account];
  const name = parts.map((part) => encodeURIComponent(part ?? "")).join(":");
  return {
    url,
    host,
    // The braces keep all keys of a session on one node of a cluster.
    name: `platform-auth:{${name}}`,
    account,
    key,
    isOpen: key === undefined && !isPrivate,
  };
}

/**
 * The account whose entry is used. A machine that has no `USERNAME` can name the account after a #.
 *
 * @throws {ConfigError} `INVALID_SETTING`.
 */
export function storeAccount(
  settings: Settings,
): { readonly name: string | undefined; readonly isAfterHash: boolean } {
  const named = decoded(URL.parse(settings.text("store") ?? "")?.hash.slice(1) ?? "");
  return { name: named || settings.text("username"), isAfterHash: named !== "" };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid("a % in it does not encode a character", "write %25 instead");
  }
}

function invalid(problem: string, fix = "correct it and try again"): ConfigError {
  return new ConfigError("INVALID_SETTING", `Cannot use AUTH_STORE (store): ${problem}`, fix);
}
