import { assert, assertEquals } from "@std/assert";
import { quoted, Secret } from "../../src/platform/secret.ts";

const TEXT = "correct-horse-battery-staple";

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

Deno.test("quoted() makes one short line without control characters", () => {
  assertEquals(quoted("a\r\nb\u0000\u001b[31mc\u2028d ", []), "a b [31mc d");
  const directed = "a\u202eb\u2066c\u2069d\u200fe\u061cf\u0007g\u009bh\u2029i\ufeffj";
  assertEquals(quoted(directed, []), "abcdef g h ij");
  assertEquals(quoted("x".repeat(1_000_000), []), `${"x".repeat(160)}…`);
});

const SECRETS = [
  TEXT,
  `${TEXT}-2`,
  "?>?>?>",
  "~(a b)*!",
  'kR7!m "q2\\#L/+z\u00e9',
  "\ud800 half",
  "pw12",
];
const FORMS: [string, (secret: string) => string][] = [
  ["in plain text", (secret) => secret],
  ["in JSON", (secret) => JSON.stringify(secret).slice(1, -1)],
  ["in a URL", (secret) => encodeURIComponent(secret.toWellFormed())],
  ["in a URL, with lower-case hex digits", (secret) => {
    return encodeURIComponent(secret.toWellFormed()).replace(/%../g, (hex) => hex.toLowerCase());
  }],
  ["in a URL, with all punctuation encoded", (secret) => {
    const hex = (mark: string) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`;
    return encodeURIComponent(secret.toWellFormed()).replace(/[!'()*]/g, hex);
  }],
  ["in a form", (secret) => new URLSearchParams({ a: secret }).toString().slice(2)],
  ["in base64", (secret) => new TextEncoder().encode(secret).toBase64().replaceAll("=", "")],
  ["in base64url", (secret) => {
    return new TextEncoder().encode(secret).toBase64({ alphabet: "base64url", omitPadding: true });
  }],
];
for (const [how, form] of FORMS) {
  Deno.test(`quoted() replaces a secret ${how}`, () => {
    const secrets = SECRETS.map((each) => new Secret(each));
    for (const secret of SECRETS) {
      const shown = quoted(`Value '${form(secret)}', then "${form(secret)}"`, secrets);
      assertEquals(shown, `Value '[secret]', then "[secret]"`);
    }
  });
}

Deno.test("quoted() replaces a secret before it shortens the text", () => {
  assertEquals(quoted(`no ${TEXT}`, [new Secret(TEXT)], 8), "no [secr…");
});

Deno.test("quoted() does not look for secrets of fewer than four characters", () => {
  const message = "Incorrect username or password.";
  const secrets = ["", "a", "or", "ass"].map((each) => new Secret(each));
  assertEquals(quoted(message, secrets), message);
});
