import { assertEquals, assertStrictEquals } from "@std/assert";
import {
  afterChange,
  afterRefresh,
  afterRefusal,
  afterRejection,
  type Ending,
  type SessionState,
  SIGNED_OUT,
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

Deno.test("stateOf() tells from the tokens whether they can be refreshed", () => {
  assertEquals(stateOf(undefined).kind, "none");
  assertEquals(stateOf(portal("p")).kind, "access-only");
  assertEquals(renewable.kind, "renewable");
});

Deno.test("afterChange() takes what another process wrote, and says why where that is nothing", () => {
  assertEquals(afterChange(renewable, undefined, BECAUSE), {
    kind: "none",
    because: BECAUSE,
  });
  assertStrictEquals(afterChange(SIGNED_OUT, undefined, BECAUSE), SIGNED_OUT);
  const other = portal("p");
  assertStrictEquals(
    tokensOf(afterChange(renewable, other, BECAUSE)),
    other,
  );
});

Deno.test("afterRefresh() replaces the tokens that were refreshed, and no others", () => {
  const elsewhere = stateOf(tokens("b1", "s1", 9));
  const sibling = stateOf(tokens("a3", "r3", 5));
  const cases: [string, SessionState, boolean, Tokens | undefined][] = [
    ["nothing happened meanwhile", renewable, true, refreshed],
    ["nothing happened meanwhile, without the lock", renewable, false, refreshed],
    ["a logout", SIGNED_OUT, true, undefined],
    ["another login", elsewhere, true, tokensOf(elsewhere)],
    ["another login, without the lock", elsewhere, false, tokensOf(elsewhere)],
    ["the same login, refreshed by a process without the lock", sibling, true, tokensOf(sibling)],
    ["the same login, refreshed where locks are impossible", sibling, false, refreshed],
  ];
  for (const [what, now, alone, expected] of cases) {
    assertStrictEquals(tokensOf(afterRefresh(now, held, refreshed, alone)), expected, what);
  }
});

Deno.test("afterRefusal() leaves a good access token alone, and nothing else", () => {
  const good = afterRefusal(renewable, held, BECAUSE, true);
  assertEquals(good.kind, "access-only");
  assertEquals([tokensOf(good)?.refreshToken, tokensOf(good)?.authenticatedAt], [
    undefined,
    undefined,
  ]);
  assertEquals(afterRefusal(renewable, held, BECAUSE, false), { kind: "none", because: BECAUSE });
  const rejected = afterRejection(renewable, held);
  assertEquals(afterRefusal(rejected, held, BECAUSE, true), { kind: "none", because: BECAUSE });
  const newer = stateOf(refreshed);
  assertStrictEquals(afterRefusal(newer, held, BECAUSE, true), newer);
  assertStrictEquals(afterRefusal(SIGNED_OUT, held, BECAUSE, true), SIGNED_OUT);
});

Deno.test("afterRejection() marks the tokens that the API rejected, and no others", () => {
  const isRejected = (holding: SessionState) => holding.kind !== "none" && holding.rejected;
  assertEquals(isRejected(afterRejection(renewable, held)), true);
  assertEquals(isRejected(afterRejection(renewable, refreshed)), false);
  assertStrictEquals(afterRejection(SIGNED_OUT, held), SIGNED_OUT);
});
