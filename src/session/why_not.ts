/** Says why a call finds no token to use or refresh. */
import type { Advice } from "../errors/advice.ts";
import { durationText } from "../errors/amounts.ts";
import { type AuthError, sentenceOf, SessionExpiredError } from "../errors/errors.ts";
import { loginAfter, whyNoSettings } from "../settings/no_settings.ts";
import { portalName } from "./portal_token.ts";
import type { SessionState } from "./state.ts";
import { placeText, type StoredSession, type Vault } from "./vaults/vault.ts";

/** Makes the error for a call that finds no token to use or refresh. */
export function whyNot(session: StoredSession, state: SessionState, vault: Vault): AuthError {
  if (state.kind !== "renewable" && state.because) {
    const { code, problem, fix } = state.because;
    return new SessionExpiredError(code, problem, fix);
  }
  if (state.kind === "none") {
    const { problem, fix = ["run ", { call: "login" }, " first"] } = whyNone(session, vault);
    return new SessionExpiredError("NO_SESSION", problem, fix);
  }
  const { settings: { portalText }, world } = session.configuration;
  const { expiresAt, source } = state.tokens;
  return new SessionExpiredError(
    "CANNOT_REFRESH",
    `Cannot refresh the session: there is no refresh token, and the access token ${
      expiryText(expiresAt, world.now())
    }`,
    source === "portal"
      ? [
        `choose "Copy Token" in ${portalName(portalText)} and run `,
        { call: "login", options: { strategy: "portal" } },
      ]
      : ["run ", { call: "login", options: { force: true } }],
  );
}

/**
 * Says why no session ever began: stored tokens are ignored, the store is empty, or settings are
 * missing.
 */
function whyNone({ configuration: { settings }, notices }: StoredSession, vault: Vault): Advice {
  const because = (reason: string) => `There is no session (${reason})`;
  const ignored = settings.file.problem ?? notices.get("STORED_IGNORED") ??
    notices.get("ENVIRONMENT_IGNORED");
  if (ignored) return { problem: because(sentenceOf(ignored)) };
  const { owner, place } = vault;
  if (place && "store" in place) {
    const whose = owner ? owner.account ? ` of ${owner.account}` : ", and no account is set" : "";
    return { problem: because(`${placeText(place)} contains no session${whose}`) };
  }
  const unfound = whyNoSettings(settings);
  return unfound
    ? { problem: because(unfound.problem), fix: loginAfter(unfound) }
    : { problem: "There is no session" };
}

function expiryText(expiresAt: number | undefined, now: number): string {
  if (expiresAt === undefined) return "has an unknown expiry";
  const span = durationText(Math.abs(now - expiresAt));
  return now < expiresAt ? `expires in ${span}` : `expired ${span} ago`;
}
