import { assert, assertEquals } from "@std/assert";
import { fc } from "../support/property.ts";
import { redact, Secret, secretCutter } from "../../src/platform/secret.ts";

const TEXT = "correct-horse-battery-staple";
const WITHHELD = "[withheld: it repeats a secret]";

Deno.test("a Secret does not show its text when it is printed, serialized or spread", () => {
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

Deno.test("redact() makes one short line without control characters", () => {
  assertEquals(redact("a\r\nb\u0000\u001b[31mc\u2028d ", []), "a b [31mc d");
  const directed = "a\u202eb\u2066c\u2069d\u200fe\u061cf\u0007g\u009bh\u2029i\ufeffj";
  assertEquals(redact(directed, []), "abcdef g h ij");
  assertEquals(redact("x".repeat(1_000_000), []), `${"x".repeat(160)}…`);
});

Deno.test("redact() withholds a text that contains a short secret, but not a similar text", () => {
  const secrets = [new Secret(TEXT), new Secret("pw12"), new Secret("")];
  assertEquals(redact("it was pw12", secrets), WITHHELD);
  for (const text of ["", "correct", "a battery of horses", "pw 12"]) {
    assertEquals(redact(text, secrets), text);
  }
});

Deno.test("a secret of fewer than four characters does not change a message", () => {
  const message = "Incorrect username or password.";
  for (const short of ["a", "or", "ass", "e\u200b\u200b\u200b", "\u200b".repeat(5)]) {
    const secrets = [new Secret(short), new Secret(TEXT)];
    assertEquals(redact(message, secrets), message);
    assertEquals(secretCutter(secrets)(`${message} ${TEXT}`), `${message} [secret]`);
  }
});

const PASSWORD = "kR7!mq2#Lz";
const TOKEN = Array.from({ length: 12 }, (_, at) => `part${at}Of-a.long_Token`).join("");
const encode = (text: string) => new TextEncoder().encode(text);
const percent = (text: string) => [...encode(text)].map((byte) => `%${byte.toString(16)}`).join("");
const SPELLINGS: [string, (secret: string) => string][] = [
  ["as base64", (secret) => encode(secret).toBase64()],
  ["as truncated base64", (secret) => encode(secret).toBase64().slice(0, 10)],
  ["percent-encoded", percent],
  ["partly percent-encoded", (secret) => secret.replace("q", "%71").replace("a", "%61")],
  ["encoded as in a URL", encodeURIComponent],
];
for (const [how, spelled] of SPELLINGS) {
  Deno.test(`redact() withholds a text with a password or a token ${how}`, () => {
    for (const secret of [PASSWORD, TOKEN]) {
      const text = `Value "${spelled(secret)}" failed to satisfy the constraint`;
      assertEquals(redact(text, [new Secret(secret)]), WITHHELD, text);
    }
  });
}

Deno.test("redact() withholds part of a password even if the part begins or ends with a common word", () => {
  for (const part of ["password-2031", "password1", "-my-Password", "disabled!!"]) {
    for (const secret of [`${part}#x`, `x#${part}`]) {
      const shown = redact(`Value "${part}" failed`, [new Secret(secret)]);
      assertEquals(shown, WITHHELD, secret);
    }
  }
});

Deno.test("redact() keeps a provider's messages that contain no secret", () => {
  const secrets = [PASSWORD, TOKEN, "Summer2031!", "correct horse"].map((it) => new Secret(it));
  const sentences = [
    "Request not allowed due to security reasons.",
    "Client 5example is configured with secret but SECRET_HASH was not received",
    "User pool client 5example does not exist.",
    "2 validation errors detected: Value at 'clientId' failed to satisfy constraint",
  ];
  for (const sentence of sentences) assertEquals(redact(sentence, secrets), sentence);
});

Deno.test("redact() withholds any eight characters of any secret, anywhere in a text", () => {
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
