import { sentenceOf, SessionExpiredError } from "../values/errors.ts";
import type { SessionContext } from "./configuration.ts";
import type { Tokens } from "../values/tokens.ts";
import { spanText } from "../values/wording.ts";

/** The error of a call that needs a session where there is none. */
export function noSession(context: SessionContext): SessionExpiredError {
  const { settings, warnings } = context;
  const { problem } = settings.file;
  const why = problem ? sentenceOf(problem) : warnings.get("stored");
  return new SessionExpiredError(
    "NO_SESSION",
    `There is no session${why ? ` (${why})` : ""}; run login() first`,
  );
}

/** The error of a session whose access token cannot be replaced. */
export function cannotRefresh(tokens: Tokens, now: number): SessionExpiredError {
  const { expiresAt, source } = tokens;
  const how = source === "portal"
    ? 'copy a new one in the portal ("Copy Token") and run login({ portalToken })'
    : "run login({ force: true })";
  return new SessionExpiredError(
    "CANNOT_REFRESH",
    `Cannot refresh the session: there is no refresh token, and the access token ${
      endText(expiresAt, now)
    }; ${how}`,
  );
}

function endText(expiresAt: number | undefined, now: number): string {
  if (expiresAt === undefined) return "tells no end";
  const span = spanText(Math.abs(now - expiresAt));
  return now < expiresAt ? `ends in ${span}` : `ended ${span} ago`;
}
