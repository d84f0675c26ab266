import { assertEquals } from "@std/assert";
import { fc } from "../support/property.ts";
import { readClaims } from "../../src/platform/claims.ts";
import { jwt } from "../support/answers.ts";

Deno.test("readClaims() returns the claims that a session uses", () => {
  const claims = { iat: 1_700_000_000, exp: 1_700_001_800, sub: "s-1", username: "zoë 🌊" };
  assertEquals(
    readClaims(jwt({ ...claims, client_id: "app", token_use: "access", scope: "x" })),
    { ...claims, clientId: "app", tokenUse: "access", scope: "x" },
  );
});

Deno.test("readClaims() returns only valid dates and text, for any token", () => {
  const anything = fc.oneof(fc.string(), fc.string().map((it) => `a.${it}.c`));
  const claims = fc.dictionary(
    fc.constantFrom("iat", "exp", "sub", "username", "client_id", "token_use"),
    fc.jsonValue(),
  ).map(jwt as (claims: unknown) => string);
  fc.assert(
    fc.property(fc.oneof(anything, claims), (token) => {
      for (const [name, value] of Object.entries(readClaims(token))) {
        if (name === "iat" || name === "exp") new Date(Number(value) * 1_000).toISOString();
        else assertEquals(typeof value, "string");
      }
    }),
    { numRuns: 1_000 },
  );
});
