import { assert, assertEquals } from "@std/assert";
import { fc, rounds } from "../support/property.ts";
import { AuthError, computeSecretHash, createSession } from "../../mod.ts";
import { canaries, issued, repeatedPart, SETTINGS } from "../support/canaries.ts";
import { cannedFetch } from "../support/canned_fetch.ts";
import { Clock } from "../support/clock.ts";

/** The number of responses that each test invents, many more with SOAK set. */
const RUNS = rounds(200, 20_000);

const HASH = await computeSecretHash("ada", "example-client", canaries.clientSecret);

/** The secrets that each call sends, and that a provider or proxy may therefore repeat. */
const SENT = {
  login: [canaries.password, canaries.clientSecret, HASH],
  // The hash is left out: after the provider rejects it, the next request does not contain it.
  refresh: [canaries.refreshToken, canaries.clientSecret],
};

const SUCCESS = {
  AuthenticationResult: {
    AccessToken: "opaque-token",
    ExpiresIn: 1800,
    RefreshToken: "next-refresh-token",
    TokenType: "Bearer",
  },
  ChallengeName: "SMS_MFA",
  ChallengeParameters: { hint: "your pet" },
  Session: "a session",
};
const REFUSAL = {
  __type: "a.b#NotAuthorizedException",
  message: "SecretHash does not match",
  code: "TooManyRequestsException",
};
const HEADERS = ["x-amzn-errortype", "x-request-id", "retry-after", "date", "location"];
const VALUES = ["-1", "1e9", "Wed, 01 Jan 2031 00:00:00 GMT", "a#b:c#d", "https://a.example/"];

/** A secret or its base64, alone or in a longer text. */
function echo(secrets: string[]): fc.Arbitrary<string> {
  const spelled = secrets.flatMap((secret) => [
    secret,
    new TextEncoder().encode(secret).toBase64(),
  ]);
  return fc.tuple(fc.constantFrom("", "bad input ", "{", "https://"), fc.constantFrom(...spelled))
    .map((parts) => parts.join(""));
}

/** An object like the given one, in which members are missing or have other values. */
function nearly(good: object, other: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const members = Object.entries(good).map(([name, value]) => {
    const arbitrary = typeof value === "object" ? nearly(value, other) : fc.constant(value);
    return [name, fc.oneof({ arbitrary, weight: 3 }, { arbitrary: other, weight: 1 })];
  });
  return fc.record(Object.fromEntries(members), { requiredKeys: [] });
}

function invented(secrets: string[]) {
  const echoed = echo(secrets);
  const other = fc.oneof(fc.constantFrom(null, -1, 1e300, "", []), fc.jsonValue(), echoed);
  const json = fc.oneof(nearly(SUCCESS, other), nearly(REFUSAL, other), other)
    .map((value) => JSON.stringify(value));
  const value = fc.oneof(fc.constantFrom(...VALUES), echoed);
  const header = fc.tuple(fc.constantFrom(...HEADERS), value);
  return fc.record({
    status: fc.oneof(fc.constantFrom(200, 400), fc.integer({ min: 200, max: 599 })),
    headers: fc.array(header, { maxLength: 3 }),
    body: fc.oneof({ arbitrary: json, weight: 5 }, fc.constant("<html>"), echoed),
  });
}

for (const call of ["login", "refresh"] as const) {
  Deno.test(`${call}() shows no secret, whatever the provider responds (${RUNS} responses)`, async () => {
    await fc.assert(
      fc.asyncProperty(invented(SENT[call]), async ({ body, ...init }) => {
        const isBare = [204, 205, 304].includes(init.status);
        const answer = () => new Response(isBare ? null : body, init);
        const { fetch } = call === "login" ? cannedFetch(answer) : cannedFetch(issued(), answer);
        const session = createSession({ ...SETTINGS, ...new Clock().options, fetch });
        if (call === "refresh") await session.login();
        const outcome = await session[call]().catch((error) => error);
        assert(!(outcome instanceof Error) || outcome instanceof AuthError, Deno.inspect(outcome));
        const result = [outcome, session.status()];
        const shown = Deno.inspect(result, { depth: 100, showHidden: true });
        assertEquals(repeatedPart(shown + JSON.stringify(result), SENT[call]), undefined);
      }),
      { numRuns: RUNS },
    );
  });
}
