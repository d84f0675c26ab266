import { assertEquals } from "@std/assert";
import { Secret } from "../../src/platform/secret.ts";
import { makeTokens } from "../../src/provider/tokens.ts";

Deno.test("a token is replaced early by a share of its lifetime, with random variation of up to a quarter", () => {
  const margin = (lifetimeMs: number, chance: number) => {
    const world = { now: () => 0, monotonic: () => 0, random: () => chance };
    const parts = { accessToken: new Secret("opaque"), source: "password", lifetimeMs } as const;
    return makeTokens(parts, world).refreshMarginMs;
  };
  assertEquals([margin(1_800_000, 0), margin(1_800_000, 1)], [135_000, 180_000]);
  assertEquals([margin(30_000, 0), margin(30_000, 1)], [7_500, 10_000]);
  assertEquals([margin(86_400_000, 0), margin(86_400_000, 1)], [225_000, 300_000]);
});
