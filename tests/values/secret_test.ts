import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { redact, Secret } from "../../src/values/secret.ts";

const TEXT = "correct-horse-battery-staple";

Deno.test("Secret shows its text to nothing that prints, serializes or spreads it", () => {
  const secret = new Secret(TEXT);
  const error = new Error(`with ${secret}`, { cause: secret });
  const shown = [
    ...[`${secret}`, String(secret), secret + "", JSON.stringify({ secret }), `${[secret]}`],
    Deno.inspect({ secret }, { depth: 100, showHidden: true, getters: true }),
    Deno.inspect(error, { depth: 100, showHidden: true }),
    JSON.stringify({ ...secret }),
    JSON.stringify(Object.getOwnPropertyDescriptors(secret)),
    ...Reflect.ownKeys(secret).map(String),
  ];
  for (const text of shown) assert(!text.includes("horse"), text);
  assertEquals(secret.reveal(), TEXT);
});

Deno.test("redact() makes a foreign text one short line", () => {
  assertEquals(redact("a\r\nb\u0000\u001b[31mc\u2028d ", []), "a b [31mc d");
  const long = redact("x".repeat(1_000), []);
  assertEquals(long, `${"x".repeat(160)}…`);
  assertEquals(redact("abcdef", [], 3), "abc…");
});

Deno.test("redact() withholds a text that repeats eight characters of a secret, or a short one", () => {
  const secrets = [new Secret(TEXT), new Secret("pw1"), new Secret("")];
  const base64 = new TextEncoder().encode(TEXT).toBase64();
  const telling = [TEXT, `no: ${TEXT.slice(3, 11)}!`, "it was pw1", base64, base64.slice(4, 14)];
  for (const text of telling) assertStringIncludes(redact(text, secrets), "withheld", text);
  for (const text of ["", "correct", "a battery of horses", "pw 1"]) {
    assertEquals(redact(text, secrets), text);
  }
});

Deno.test("redact() never lets eight characters of any secret through, wherever they stand", () => {
  const word = fc.string({ unit: "grapheme", minLength: 8, maxLength: 40 });
  fc.assert(
    fc.property(word, fc.string(), fc.string(), fc.nat(), (secret, before, after, at) => {
      const start = at % Math.max(1, secret.length - 7);
      const part = secret.slice(start, start + 8);
      const shown = redact(before + part + after, [new Secret(secret)], 500);
      assert(!shown.includes(part), shown);
    }),
    { numRuns: 500 },
  );
});
