import { issuedOffsetMs, makeTokens, readClaims, type Tokens } from "../values/tokens.ts";
import { missingWritePermission } from "../dotenv/file.ts";
import { ConfigError, typeError } from "../values/errors.ts";
import { countFailures } from "../provider/failed_logins.ts";
import { parsePortalToken } from "../values/portal_token.ts";
import type { World } from "../runtime/world.ts";
import { ask, askFor, canAsk } from "../runtime/prompt.ts";
import { checkProviderSettings } from "../provider/provider_settings.ts";
import { Secret } from "../values/secret.ts";
import type { Configuration } from "./configuration.ts";
import type { Notices } from "./notices.ts";
import { resolveSettings, type Settings } from "../settings/settings.ts";
import { requestLogin } from "../provider/token_request.ts";
import { spanText } from "../values/wording.ts";

/** How to log in. */
export interface LoginOptions {
  /** The login name. Default: the setting `USERNAME`. */
  username?: string;
  /** The password. Default: the setting `PASSWORD`. */
  password?: string;
  /** What the portal's "Copy Token" put on the clipboard: `bearer eyJ…`. */
  portalToken?: string;
  /** `auto` (default): portalToken, else the settings, else ask. `portal` and `password` ask for what is missing, `environment` never asks. */
  strategy?: "auto" | "portal" | "password" | "environment";
  /** Log in even if the session is good. Default `false`. */
  force?: boolean;
  /** Ends the wait; nothing is changed then. */
  signal?: AbortSignal;
}

const STRATEGIES = ["auto", "portal", "password", "environment"];

/**
 * Checks what options of the same call say together.
 *
 * @throws {TypeError} If they contradict each other.
 */
export function checkLoginOptions(options: LoginOptions): void {
  const { strategy, portalToken, username, password } = options;
  if (strategy !== undefined && !STRATEGIES.includes(strategy)) {
    throw typeError(`login() takes one of ${STRATEGIES.join(", ")} as "strategy"`);
  }
  const byName = username !== undefined || password !== undefined;
  if (
    portalToken !== undefined && (byName || (strategy ?? "auto") !== "auto") &&
    !(strategy === "portal" && !byName)
  ) {
    throw typeError(
      "login() takes either portalToken or username and password, and a strategy that fits",
    );
  }
}

/** Where a login takes what it needs from, and where it tells what it noticed. */
export interface LoginPlace {
  readonly configuration: Configuration;
  readonly notices: Notices;
}

/** Gets tokens by the way that the options and settings give (section 5.2). Changes nothing. */
export async function obtainTokens(
  place: LoginPlace,
  options: LoginOptions,
  signal: AbortSignal | undefined,
): Promise<Tokens> {
  const context = place.configuration;
  if (context.envFile !== undefined) {
    const missing = missingWritePermission(context.envFile);
    if (missing) throw missing;
  }
  const { strategy = "auto", portalToken, username, password } = options;
  if (portalToken !== undefined) return fromPortal(place, portalToken);
  if (strategy === "portal") return fromPortal(place, await askPortalToken(context.world));
  // A password must not be sent with a name that it does not belong to.
  const { password: known, ...others } = context.options;
  const own = username === undefined || username === others.username ? known : undefined;
  const secret = password ?? own;
  const given = {
    ...others,
    ...(username !== undefined && { username }),
    ...(secret !== undefined && { password: secret }),
  };
  const named = username !== undefined || password !== undefined;
  const settings = named
    ? resolveSettings(given, context.isDefault, context.settings)
    : context.settings;
  const complete = settings.text("username") && settings.text("password");
  if (strategy === "auto" && !complete && !named && canAsk(context.world)) {
    const way = await askWay(context.world);
    if (way === "portal") return fromPortal(place, await askPortalToken(context.world));
    if (typeof way === "object") return fromPortal(place, way.portalToken);
    return await fromPassword(place, settings, way === "password", signal);
  }
  return await fromPassword(place, settings, strategy !== "environment", signal);
}

async function fromPassword(
  { configuration, notices }: LoginPlace,
  settings: Settings,
  mayAsk: boolean,
  signal: AbortSignal | undefined,
): Promise<Tokens> {
  const { options, world } = configuration;
  const asks = mayAsk && canAsk(world);
  const alsoMissing = [];
  if (!asks && !settings.text("username")) alsoMissing.push("USERNAME");
  if (!asks && !settings.text("password")) alsoMissing.push("PASSWORD");
  const provider = await checkProviderSettings("log in", options, settings, alsoMissing);
  const username = settings.text("username") ??
    (await askFor(world, "User name:", false, "set USERNAME")).trim();
  const password = settings.secret("password") ??
    new Secret(await askFor(world, `Password of ${username}:`, true, "set PASSWORD"));
  signal?.throwIfAborted();
  const { delivery, tokens } = await requestLogin(provider, username, password, world, signal);
  notices.learnClock(delivery.clockOffsetMs ?? issuedOffsetMs(tokens));
  const advice = countFailures(provider, username, delivery.outcome);
  if (!tokens) {
    const { deliveryError } = await import("../provider/errors.ts");
    throw deliveryError("login", delivery, world.now(), undefined, advice);
  }
  return { ...tokens, learned: { loginName: username, clockOffsetMs: delivery.clockOffsetMs } };
}

/** The portal string (section 2.3): it needs no other setting and brings no refresh token. */
function fromPortal({ configuration, notices }: LoginPlace, text: string): Tokens {
  const { world } = configuration;
  const token = parsePortalToken(text);
  if (token.startsWith("eyJ") && token.split(".").length < 3) {
    throw new ConfigError(
      "INVALID_PORTAL_TOKEN",
      'Cannot log in: this is the beginning of a token, not all of it; choose "Copy Token" in the ' +
        "user menu of the portal and paste the whole string",
    );
  }
  const { exp, iat, tokenUse } = readClaims(token);
  if (tokenUse !== undefined && tokenUse !== "access") {
    throw new ConfigError(
      "INVALID_PORTAL_TOKEN",
      'Cannot log in: this is not an access token but another one of the same user; choose "Copy ' +
        'Token" in the user menu of the portal and paste what it gives',
    );
  }
  const now = world.now();
  notices.learnIssued(iat, now);
  const expiresAt = exp === undefined ? undefined : exp * 1_000 - (notices.clockOffsetMs ?? 0);
  if (expiresAt !== undefined && expiresAt <= now) {
    const ago = spanText(now - expiresAt);
    throw new ConfigError(
      "INVALID_PORTAL_TOKEN",
      `Cannot log in: by this computer's clock the portal token ended ${ago} ago; copy a ` +
        "new one in the portal, or set the clock right",
    );
  }
  return makeTokens({ accessToken: new Secret(token), expiresAt, source: "portal" }, world);
}

async function askPortalToken(world: World): Promise<string> {
  return await askFor(
    world,
    'Portal string ("Copy Token" in the user menu):',
    true,
    "run login({ portalToken }) with the string from the portal",
  );
}

/** Which way in, or the portal string itself; `undefined` if nobody can be asked after all. */
async function askWay(
  world: World,
): Promise<"portal" | "password" | { portalToken: string } | undefined> {
  const message = "Sign in with 1 = the portal's Copy Token, 2 = user name and password (1/2):";
  // Masked, because some paste the token at once, and a notebook keeps what was typed openly.
  const answer = await ask(world, message, true);
  if (answer === null) return undefined;
  const way = answer.trim().toLowerCase();
  if (["1", "portal", "token"].includes(way)) return "portal";
  if (["2", "password"].includes(way)) return "password";
  if (/^bearer\s|^eyj/.test(way)) return { portalToken: answer };
  throw new ConfigError(
    "PROMPT_UNAVAILABLE",
    "Cannot log in: neither 1 nor 2 was entered; run login() again, or login({ portalToken })",
  );
}
