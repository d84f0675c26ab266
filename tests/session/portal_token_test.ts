import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { fc } from "../support/property.ts";
import { ConfigError, parsePortalToken } from "../../mod.ts";
import { jwt } from "../support/answers.ts";

function refused(text: string): ConfigError {
  const error = assertThrows(() => parsePortalToken(text), ConfigError);
  assertEquals(error.code, "INVALID_PORTAL_TOKEN");
  return error;
}

const BARE = jwt({ sub: "someone" });
const written: [string, string][] = [
  ["as the portal copies it", `bearer ${BARE}`],
  ["that lacks the word bearer", BARE],
  ["with a capital B", `Bearer ${BARE}`],
  ["as a whole header", `Authorization: bearer ${BARE}`],
  ["in double quotes", `"bearer ${BARE}"`],
  ["with quotes around the token only", `bearer "${BARE}"`],
  ["in typographic quotes", `“bearer ${BARE}”`],
  ["followed by a line break", `bearer ${BARE}\r\n`],
  ["with a no-break space after bearer", `bearer\u00a0${BARE}`],
  ["after a byte order mark", `\ufeffbearer ${BARE}`],
  ["with invisible characters around it", `\u2060\u00adbearer\u200b ${BARE}\u200e\u2069\u{e0020}`],
  [
    "split into lines",
    `bearer ${BARE.slice(0, 20)}\r\n${BARE.slice(20, 60)}\n  ${BARE.slice(60)}`,
  ],
];
for (const [how, text] of written) {
  Deno.test(`parsePortalToken() reads the portal string ${how}`, () => {
    assertEquals(parsePortalToken(text), BARE);
  });
}

Deno.test("parsePortalToken() rejects characters that cannot occur in a token", () => {
  for (
    const char of ["\u0000", "\u001b", "\u0085", " ", "é", "🌊", "\u200b", ";", "<", '"', "\\"]
  ) {
    refused(`bearer ${BARE.slice(0, 30)}${char}${BARE.slice(30)}`);
  }
});

Deno.test("parsePortalToken() rejects a text without a token as empty", () => {
  for (const text of ["", "\r\n", "bearer", '"bearer "', "authorization: bearer"]) {
    assertStringIncludes(refused(text).message, "empty");
  }
});

const OPAQUE = "5f1c0de2a9b84c7f93d1";
const [HEADER, CLAIMS, SIGNATURE] = BARE.split(".");

Deno.test("parsePortalToken() reads an opaque token of 20 characters after the word bearer", () => {
  for (const word of ["bearer", "Bearer", "BEARER", "authorization: bearer"]) {
    assertEquals(parsePortalToken(`${word} ${OPAQUE}`), OPAQUE);
  }
});

Deno.test("parsePortalToken() reads a JWT whose header begins with a blank or a line break", () => {
  for (const header of ['{ "alg":"RS256"}', '{\n"alg":"RS256"}']) {
    const token = `${btoa(header).replace(/=+$/, "")}.${CLAIMS}.${SIGNATURE}`;
    for (const word of ["", "bearer "]) assertEquals(parsePortalToken(word + token), token);
  }
});

/** Texts that are typed or piped by mistake: each is a user name, a password or a part of a token. */
const notPortalStrings: [what: string, text: string][] = [
  ["a word", "hello"],
  ["a user name that contains eyJ", "ashleyjackson"],
  ["a user name that begins with eyJ", "eyJackson"],
  ["an e-mail address", "bearer@example.com"],
  ["a word after bearer", "bearer nonsense"],
  ["an opaque token without bearer", OPAQUE],
  ["an opaque token of 19 characters", `bearer ${OPAQUE.slice(1)}`],
  ["the word bearer at the end", `${OPAQUE} bearer`],
  ["a JWT whose header is not JSON", `bearer eyJ${"x".repeat(40)}.${CLAIMS}.${SIGNATURE}`],
  ["a JWT whose claims are not JSON", `bearer ${HEADER}.${CLAIMS?.slice(1)}.${SIGNATURE}`],
  ["a JWT without a signature", `bearer ${HEADER}.${CLAIMS}.`],
  ["a JWT of four parts", `${BARE}.${SIGNATURE}`],
  ["a JWT in base64 with + and /", `${HEADER}.${CLAIMS}.a+/b`],
];
for (const [what, text] of notPortalStrings) {
  Deno.test(`parsePortalToken() rejects ${what}`, () => {
    refused(text);
  });
}

Deno.test("parsePortalToken() rejects a refresh token", () => {
  const refreshToken = `${jwt({}).split(".")[0]}.b.c.d.e`;
  assertStringIncludes(refused(`bearer ${refreshToken}`).message, "refresh token");
});

/** Texts on which a pattern that backtracks would take minutes. */
const long = 500_000;
const hostile: [what: string, text: string, refusal: string | undefined][] = [
  ["blanks before the token", " ".repeat(long) + BARE, undefined],
  ["blanks in the token", `${BARE}${" ".repeat(long)}x`, "cannot occur in a token"],
  ["quotes in the token", `bearer a${"'".repeat(long)}b`, "cannot occur in a token"],
  ["line breaks in the token", BARE.replace(".", `.${"\n ".repeat(long / 2)}`), undefined],
  ["blanks after bearer", `bearer${" ".repeat(long)}x y`, "cannot occur in a token"],
  ["colons after bearer", `bearer${" :".repeat(long / 2)}`, "empty"],
  [
    "quotes around the token",
    `${'" '.repeat(long / 2)}bearer ${BARE}${" '".repeat(long / 4)}`,
    undefined,
  ],
];
for (const [what, text, refusal] of hostile) {
  Deno.test(`parsePortalToken() stays fast with many ${what}`, () => {
    if (refusal === undefined) assert(parsePortalToken(text).length > 0);
    else assertStringIncludes(refused(text).message, refusal);
  });
}

Deno.test("parsePortalToken() never quotes its input", () => {
  const text = fc.string({ unit: "binary", minLength: 8, maxLength: 60 });
  fc.assert(
    fc.property(text, (given) => {
      try {
        parsePortalToken(given);
      } catch (error) {
        assert(error instanceof ConfigError);
        const shown = Deno.inspect(error, { depth: 100, showHidden: true });
        const said = refused("é").message + shown.slice(shown.indexOf("\n    at"));
        for (let at = 0; at + 8 <= given.length; at++) {
          const part = given.slice(at, at + 8);
          assert(said.includes(part) || !shown.includes(part), "the text is repeated");
        }
      }
    }),
    { numRuns: 500 },
  );
});
