import { assertEquals, assertRejects } from "@std/assert";
import { createHmac } from "node:crypto";
import { fc } from "../support/property.ts";
import { computeSecretHash } from "../../mod.ts";
import data from "../support/data/secret_hash_vectors.json" with { type: "json" };

for (const { name, username, clientId, clientSecret, hash } of data.vectors) {
  Deno.test(`computeSecretHash() returns the same hash as openssl (${name})`, async () => {
    assertEquals(await computeSecretHash(username, clientId, clientSecret), hash);
  });
}

Deno.test("computeSecretHash() agrees with node:crypto on any text", async () => {
  const text = fc.string({ unit: "grapheme", maxLength: 80 });
  await fc.assert(
    fc.asyncProperty(text, text, text.filter((it) => it !== ""), async (name, id, secret) => {
      const other = createHmac("sha256", secret).update(name + id, "utf8").digest("base64");
      assertEquals(await computeSecretHash(name, id, secret), other);
    }),
    { numRuns: 200 },
  );
});

Deno.test("computeSecretHash() rejects an empty secret", async () => {
  await assertRejects(() => computeSecretHash("ada", "id", ""), TypeError, "public client");
});
