/** The checks of settings before a request. The other settings are checked where they are used. */
import { VISIBLE_ASCII } from "../platform/secret.ts";
import { isSafeTransport } from "../platform/transport.ts";
import {
  parseTimeout,
  portalAddress,
  type ProviderDialect,
  type SettingName,
} from "../settings/options.ts";

/** A value that every request needs gets a row here: what the value must be, if it is not. */
export const SETTING_CHECKS: Readonly<
  Partial<Record<SettingName, (text: string) => string | undefined>>
> = {
  authUrl: (text) => {
    // The messages never quote the address, which may contain a password.
    const url = URL.parse(text);
    if (url === null) return "must be a URL, such as https://login.example.com";
    if (!isSafeTransport(url)) return "must be https: (http: only on this machine's loopback)";
    if (url.username + url.password !== "") return "must not contain a user name or password";
    return url.search + url.hash === "" ? undefined : "must not contain a query or a fragment";
  },
  clientId: visibleWord,
  userPoolId: visibleWord,
  refreshSecretHash: (text) =>
    ["auto", "send", "omit"].includes(text) ? undefined : 'must be "auto", "send" or "omit"',
  // The message never quotes the address, which may contain a password.
  portalUrl: (text) =>
    portalAddress(text) === undefined
      ? "must be an https: address (http: only on this machine's loopback) without a user name and " +
        "password, such as https://portal.example.com"
      : undefined,
  timeoutMs: (text) =>
    parseTimeout(text) === undefined
      ? "must be a whole number of milliseconds, from 1 to one hour"
      : undefined,
};

function visibleWord(text: string): string | undefined {
  return VISIBLE_ASCII.test(text) ? undefined : "must be visible ASCII without spaces";
}

const DIALECT_PARTS = [
  ["targetHeader", /^[A-Za-z0-9-]+$/, "a header name"],
  ["service", /^[\w.-]+$/, "letters, digits, . and -"],
  ["contentType", /^[\w.+-]+\/[\w.+-]+$/, "type/subtype"],
] as const;

/** Checks the wire names. An object in the option `provider` may have other types in a notebook. */
export function dialectProblem(dialect: ProviderDialect | undefined): string | undefined {
  if (!dialect) {
    return 'must be "vendor", "aws" or an object { targetHeader, service, contentType }';
  }
  const wrong = DIALECT_PARTS.find(([name, pattern]) =>
    typeof dialect[name] !== "string" || !pattern.test(dialect[name])
  );
  return wrong && `needs ${wrong[0]}: ${wrong[2]}`;
}
