import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fc } from "../support/property.ts";
import { redact, Secret } from "../../src/platform/secret.ts";

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
  const directed = "a\u202eb\u2066c\u2069d\u200fe\u061cf\u0007g\u009bh\u2029i\ufeffj";
  assertEquals(redact(directed, []), "abcdef g h ij");
  assertEquals(redact("x".repeat(1_000_000), []), `${"x".repeat(160)}…`);
});

Deno.test("redact() withholds a text that repeats eight characters of a secret, or a short one", () => {
  const secrets = [new Secret(TEXT), new Secret("pw1"), new Secret("")];
  const telling = [TEXT, `no: ${TEXT.slice(3, 11)}!`, "it was pw1"];
  for (const text of telling) assertStringIncludes(redact(text, secrets), "withheld", text);
  for (const text of ["", "correct", "a battery of horses", "pw 1"]) {
    assertEquals(redact(text, secrets), text);
  }
});

const PASSWORD = "kR7!mq2#Lz";
const TOKEN = Array.from({ length: 12 }, (_, at) => `part${at}Of-a.long_Token`).join("");
const encode = (text: string) => new TextEncoder().encode(text);
const percent = (text: string) => [...encode(text)].map((byte) => `%${byte.toString(16)}`).join("");
const spellings: [string, (secret: string) => string][] = [
  ["verbatim", (secret) => secret],
  ["without its end", (secret) => secret.slice(0, 8)],
  ["without its beginning", (secret) => secret.slice(-8)],
  ["as base64", (secret) => encode(secret).toBase64()],
  ["as base64 without its end", (secret) => encode(secret).toBase64().slice(0, 10)],
  ["percent-encoded", percent],
  ["partly percent-encoded", (secret) => secret.replace("q", "%71").replace("a", "%61")],
  ["as in a URL", encodeURIComponent],
];
for (const [how, spelled] of spellings) {
  Deno.test(`redact() withholds a sentence with a password or a token ${how}`, () => {
    for (const secret of [PASSWORD, TOKEN]) {
      const text = `Value "${spelled(secret)}" failed to satisfy the constraint`;
      assertEquals(redact(text, [new Secret(secret)]), "[withheld: it repeats a secret]", text);
    }
  });
}

Deno.test("redact() withholds a part of a password that begins or ends with a common word", () => {
  for (const part of ["password-2031", "password1", "-my-Password", "disabled!!"]) {
    for (const secret of [`${part}#x`, `x#${part}`]) {
      const shown = redact(`Value "${part}" failed`, [new Secret(secret)]);
      assertEquals(shown, "[withheld: it repeats a secret]", secret);
    }
  }
});

Deno.test("redact() keeps a provider's message, whatever the usual secrets are", () => {
  const secrets = [PASSWORD, TOKEN, "Summer2031!", "correct horse"].map((it) => new Secret(it));
  const sentences = [
    "Request not allowed due to security reasons.",
    "Client 5example is configured with secret but SECRET_HASH was not received",
    "User pool client 5example does not exist.",
    "2 validation errors detected: Value at 'clientId' failed to satisfy constraint",
  ];
  for (const sentence of sentences) assertEquals(redact(sentence, secrets), sentence);
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
