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
  ["with the token alone in quotes", `bearer "${BARE}"`],
  ["in typographic quotes", `“bearer ${BARE}”`],
  ["followed by a line break", `bearer ${BARE}\r\n`],
  ["with a no-break space after bearer", `bearer\u00a0${BARE}`],
  ["after a byte order mark", `\ufeffbearer ${BARE}`],
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

Deno.test("parsePortalToken() rejects a refresh token", () => {
  const refreshToken = `${jwt({}).split(".")[0]}.b.c.d.e`;
  assertStringIncludes(refused(`bearer ${refreshToken}`).message, "refresh token");
});

/** Texts on which a pattern that backtracks would take minutes. */
const long = 500_000;
const hostile: [what: string, text: string, refusal: string | undefined][] = [
  ["blanks before the token", " ".repeat(long) + BARE, undefined],
  ["blanks in the token", `${BARE}${" ".repeat(long)}x`, "cannot occur in a token"],
  ["quotes in the token", `a${"'".repeat(long)}b`, "cannot occur in a token"],
  ["line breaks in the token", BARE.replace(".", `.${"\n ".repeat(long / 2)}`), undefined],
  ["blanks after bearer", `bearer${" ".repeat(long)}x y`, "cannot occur in a token"],
  ["colons after bearer", `bearer${" :".repeat(long / 2)}`, "empty"],
  [
    "blanks after export",
    `export${" ".repeat(long)}ACCESS_TOKEN${" ".repeat(long - 99)}x`,
    "cannot occur in a token",
  ],
];
for (const [what, text, refusal] of hostile) {
  Deno.test(`parsePortalToken() stays fast with many ${what}`, () => {
    if (refusal === undefined) assert(parsePortalToken(text).length > 0);
    else assertStringIncludes(refused(text).message, refusal);
  });
}

Deno.test("parsePortalToken() rejects a text that is too large", () => {
  const limit = 1_048_576;
  assertEquals(parsePortalToken("a".repeat(limit)).length, limit);
  const { message } = refused("a".repeat(limit + 1));
  assertStringIncludes(message, "too large: 1048577 characters, and the limit is 1048576");
});

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
