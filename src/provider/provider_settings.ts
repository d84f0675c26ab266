import { ConfigError, sentenceOf } from "../values/errors.ts";
import type { ProviderWords, SessionOptions } from "../settings/options.ts";
import { isSafeTransport } from "../runtime/transport.ts";
import type { Secret } from "../values/secret.ts";
import { type SettingName, type Settings, VARIABLES } from "../settings/settings.ts";
import { mayUseVariable } from "../runtime/environment.ts";

const WORDS: Readonly<Record<"vendor" | "aws", ProviderWords>> = {
  vendor: {
    targetHeader: "X-Vendor-Target",
    service: "VendorIdentityProviderService",
    contentType: "application/x-vendor-json-1.1",
  },
  aws: {
    targetHeader: "X-Amz-Target",
    service: "AWSCognitoIdentityProviderService",
    contentType: "application/x-amz-json-1.1",
    host: "cognito-idp",
    domain: "amazonaws.com",
  },
};

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;
const VISIBLE = /^[\x21-\x7e]+$/;

/** The deadline of one login or refresh in milliseconds; the default where what is set cannot be used. */
export function timeoutOf(settings: Settings): number {
  const set = Number(settings.text("timeoutMs") ?? DEFAULT_TIMEOUT_MS);
  return Number.isInteger(set) && set > 0 ? set : DEFAULT_TIMEOUT_MS;
}

/** What a request to the identity provider needs, checked. */
export interface ProviderSettings {
  /** The token endpoint (section 4.1). */
  readonly url: URL;
  readonly words: ProviderWords;
  readonly clientId: string;
  /** Absent for a public client: no SECRET_HASH. */
  readonly clientSecret: Secret | undefined;
  readonly userPoolId: string;
  readonly refreshSecretHash: "auto" | "send" | "omit";
  readonly timeoutMs: number;
}

/** The token endpoint as text, as far as it is set: for display and comparison, unchecked. */
export function endpointText(options: SessionOptions, settings: Settings): string | undefined {
  const whole = settings.text("authUrl");
  if (whole !== undefined) return whole;
  const words = chosenWords(options, settings);
  const host = settings.text("providerHost") ?? words?.host;
  const region = settings.text("region");
  const domain = settings.text("providerDomain") ?? words?.domain;
  return host && region && domain ? `https://${host}.${region}.${domain}` : undefined;
}

/**
 * Checks the settings that a request to the provider needs.
 *
 * @param doing What is being tried, for the message.
 * @param alsoMissing Further variables that the caller found missing.
 * @throws {ConfigError} `MISSING_SETTINGS` with all that is missing, `INVALID_SETTING` with what is wrong.
 */
export async function checkProviderSettings(
  doing: string,
  options: SessionOptions,
  settings: Settings,
  alsoMissing: readonly string[] = [],
): Promise<ProviderSettings> {
  const endpoint = endpointText(options, settings);
  const missing: string[] = [];
  if (endpoint === undefined) {
    missing.push("AUTH_URL (or AUTH_REGION, AUTH_PROVIDER_HOST and AUTH_PROVIDER_DOMAIN)");
  }
  for (const name of ["clientId", "clientSecret", "userPoolId"] as const) {
    if (settings.text(name) === undefined) missing.push(VARIABLES[name]);
  }
  missing.push(...alsoMissing);
  if (missing.length > 0) throw missingSettings(doing, missing, settings);

  const plain = plainSettings(options, settings, endpoint);
  if (plain !== undefined) return plain;
  const { z } = await import("npm:zod@^4");
  const visible = z.string().regex(VISIBLE, "must be visible ASCII without spaces");
  const shape = z.object({
    authUrl: z.string().transform(asEndpoint),
    provider: z.object({
      targetHeader: z.string().regex(/^[A-Za-z0-9-]+$/, "needs a targetHeader, a header name"),
      service: z.string().regex(/^[\w.-]+$/, "needs a service, a word"),
      contentType: z.string().regex(/^[\w.+-]+\/[\w.+-]+$/, "needs a contentType, type/subtype"),
    }, 'must be "vendor", "aws" or an object { targetHeader, service, contentType }'),
    clientId: visible,
    clientSecret: z.string(),
    userPoolId: visible,
    refreshSecretHash: z.enum(["auto", "send", "omit"], 'must be "auto", "send" or "omit"'),
    timeoutMs: z.coerce.number("must be a number of milliseconds").int(
      "must be a whole number of milliseconds",
    ).min(1, "must be at least 1 millisecond").max(MAX_TIMEOUT_MS, "must be at most one hour"),
  });
  const checked = shape.safeParse({
    authUrl: endpoint,
    provider: chosenWords(options, settings),
    clientId: settings.text("clientId"),
    clientSecret: settings.text("clientSecret"),
    userPoolId: settings.text("userPoolId"),
    refreshSecretHash: settings.text("refreshSecretHash") ?? "auto",
    timeoutMs: settings.text("timeoutMs") ?? DEFAULT_TIMEOUT_MS,
  });
  if (!checked.success) {
    throw invalidSettings(doing, checked.error.issues, settings);
  }
  const { authUrl, provider, ...rest } = checked.data;
  return {
    ...rest,
    url: authUrl,
    words: provider,
    clientSecret: rest.clientSecret === "" ? undefined : settings.secret("clientSecret"),
  };

  function asEndpoint(text: string, context: { addIssue(message: string): void }): URL {
    const problem = endpointProblem(text);
    if (problem !== undefined) context.addIssue(problem);
    return URL.parse(text) ?? new URL("https://invalid.invalid");
  }
}

/**
 * The settings if nothing is wrong with them, told without the schema library, which takes longer to
 * load than a login; `undefined`: to be looked at in depth.
 */
function plainSettings(
  options: SessionOptions,
  settings: Settings,
  endpoint: string | undefined,
): ProviderSettings | undefined {
  const url = URL.parse(endpoint ?? "");
  const words = typeof options.provider === "object" ? undefined : chosenWords(options, settings);
  const clientId = settings.text("clientId");
  const userPoolId = settings.text("userPoolId");
  const hash = settings.text("refreshSecretHash") ?? "auto";
  const timeoutMs = Number(settings.text("timeoutMs") ?? DEFAULT_TIMEOUT_MS);
  if (url === null || words === undefined || !clientId || !userPoolId) return;
  if (endpointProblem(url.href) !== undefined) return;
  if (!VISIBLE.test(clientId) || !VISIBLE.test(userPoolId)) return;
  if (hash !== "auto" && hash !== "send" && hash !== "omit") return;
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) return;
  const clientSecret = settings.text("clientSecret") ? settings.secret("clientSecret") : undefined;
  return { url, words, clientId, clientSecret, userPoolId, refreshSecretHash: hash, timeoutMs };
}

/** What is wrong with a token endpoint; `undefined` if nothing. Never quotes it: it may hold a password. */
export function endpointProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return "must be a URL, such as https://<host>.<region>.<domain>";
  if (!isSafeTransport(url)) return "must be https: (http: only on this machine's loopback)";
  if (url.username !== "" || url.password !== "") return "must not hold a user name or password";
  if (url.search !== "" || url.hash !== "") return "must not hold a query or a fragment";
  return undefined;
}

/** The wire words in force: those named, else those that fit the host; `undefined` for an unknown name. */
export function chosenWords(
  options: SessionOptions,
  settings: Settings,
): ProviderWords | undefined {
  if (typeof options.provider === "object") return options.provider;
  const name = settings.text("provider");
  if (name === "vendor" || name === "aws") return WORDS[name];
  if (name !== undefined) return undefined;
  const host = URL.parse(settings.text("authUrl") ?? "")?.hostname ??
    settings.text("providerDomain") ?? "";
  return /(^|\.)amazonaws\.com$/i.test(host) ? WORDS.aws : WORDS.vendor;
}

function missingSettings(doing: string, missing: readonly string[], settings: Settings): Error {
  const unread = ["AUTH_URL", "USERNAME"].every(mayUseVariable)
    ? ""
    : "; the environment could not be read, for that run with --allow-env";
  const { problem } = settings.file;
  if (problem?.code === "PERMISSION") {
    return new ConfigError("PERMISSION", `${sentenceOf(problem)}${unread}`);
  }
  const unreadable = problem ? `; ${sentenceOf(problem)}` : "";
  const place = settings.envFile ?? "a .env";
  const ticket = missing.some((name) => /^(AUTH|APP|USER_POOL)_/.test(name))
    ? ". The app client id, its secret and the user pool id belong to your subscription: open a " +
      "ticket with its support channel to obtain them"
    : "";
  return new ConfigError(
    "MISSING_SETTINGS",
    `Cannot ${doing}: missing ${
      missing.join(", ")
    }${unread}${unreadable}; set them in ${place}, in the environment or as options${ticket}`,
  );
}

function invalidSettings(
  doing: string,
  issues: readonly { path: PropertyKey[]; message: string }[],
  settings: Settings,
): ConfigError {
  const lines = new Map<string, string>();
  for (const issue of issues) {
    const name = String(issue.path[0]) as SettingName;
    if (lines.has(name)) continue;
    const origin = settings.origin(name);
    const from = origin === undefined ? "" : ` (from the ${origin === "file" ? ".env" : origin})`;
    lines.set(name, `${VARIABLES[name]}${from} ${issue.message}`);
  }
  return new ConfigError(
    "INVALID_SETTING",
    `Cannot ${doing}: ${[...lines.values()].join("; ")}; correct it and try again`,
  );
}
