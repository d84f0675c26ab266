import { assertEquals } from "@std/assert";
import {
  type Ending,
  next,
  type SessionEvent,
  type SessionState,
  stateOf,
  tokensOf,
} from "../../src/session/state.ts";
import { Secret } from "../../src/platform/secret.ts";
import { makeTokens, type RenewableTokens, type Tokens } from "../../src/provider/tokens.ts";

const CLOCKS = { now: () => 0, monotonic: () => 0, random: () => 0 };
const BECAUSE: Ending = { code: "REFRESH_REJECTED", problem: "It ended", fix: "run login()" };

function tokens(access: string, refresh: string, authenticatedAt?: number): RenewableTokens {
  const refreshToken = new Secret(refresh);
  const parts = { accessToken: new Secret(access), refreshToken, source: "password" as const };
  return { ...makeTokens({ ...parts, authenticatedAt }, CLOCKS), refreshToken };
}

function portal(access: string): Tokens {
  return makeTokens({ accessToken: new Secret(access), source: "portal" }, CLOCKS);
}

const held = tokens("a1", "r1", 5);
const refreshed = tokens("a2", "r2", 5);
const renewable = stateOf(held);

const signedOut = stateOf(undefined);
const held401 = { kind: "renewable", tokens: held } as const;
const other = portal("p");
const refused = (isValid: boolean): SessionEvent => ({
  kind: "refused",
  held,
  because: BECAUSE,
  isValid,
});
const elsewhere = (tokens: Tokens | undefined): SessionEvent => ({
  kind: "written elsewhere",
  tokens,
  because: BECAUSE,
});
const ended: SessionState = { kind: "none", because: BECAUSE };

Deno.test("a state follows from the tokens: whether they can be refreshed", () => {
  const kinds = [undefined, portal("p"), held].map((tokens) => stateOf(tokens).kind);
  assertEquals(kinds, ["none", "access-only", "renewable"]);
});

Deno.test("each event leads to the state that it should, or leaves the state as it is", () => {
  const rejected = next(renewable, { kind: "rejected", tokens: held });
  const newer = stateOf(refreshed);
  const cases: [string, SessionState, SessionEvent, SessionState][] = [
    ["a login", signedOut, { kind: "login", tokens: held }, renewable],
    ["a refresh", renewable, { kind: "refreshed", tokens: refreshed }, stateOf(refreshed)],
    ["a logout", renewable, { kind: "logout" }, signedOut],
    ["a logout with a reason", renewable, { kind: "logout", because: BECAUSE }, ended],
    ["tokens written elsewhere", renewable, elsewhere(other), stateOf(other)],
    ["a logout elsewhere", renewable, elsewhere(undefined), ended],
    ["a logout elsewhere without a session", signedOut, elsewhere(undefined), signedOut],
    ["a 401", renewable, { kind: "rejected", tokens: held }, { ...held401, rejected: true }],
    ["a 401 to older tokens", renewable, { kind: "rejected", tokens: refreshed }, renewable],
    ["a 401 without a session", signedOut, { kind: "rejected", tokens: held }, signedOut],
    ["a refusal of an expired token", renewable, refused(false), ended],
    ["a success after a 401", rejected, { kind: "accepted", tokens: held }, {
      ...held401,
      rejected: false,
    }],
    ["a success of older tokens", rejected, { kind: "accepted", tokens: refreshed }, rejected],
    ["a refusal after a 401", rejected, refused(true), {
      kind: "access-only",
      tokens: { ...held, refreshToken: undefined, authenticatedAt: undefined },
      rejected: true,
      because: BECAUSE,
    }],
    ["a refusal of an older refresh token", newer, refused(true), newer],
    ["a refusal without a session", signedOut, refused(true), signedOut],
  ];
  for (const [what, now, event, expected] of cases) {
    assertEquals(next(now, event), expected, what);
  }
});

Deno.test("a refused refresh token leaves a valid access token, and nothing else", () => {
  const left = next(renewable, refused(true));
  assertEquals(left.kind, "access-only");
  const { refreshToken, authenticatedAt } = tokensOf(left) ?? {};
  assertEquals([refreshToken, authenticatedAt], [undefined, undefined]);
});
