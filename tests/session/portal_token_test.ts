import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ConfigError, parsePortalToken } from "../../mod.ts";
import { jwt } from "../support/answers.ts";
import { repeatedPart } from "../support/canaries.ts";

const JWT = jwt({ sub: "someone" });
const [HEADER, CLAIMS] = JWT.split(".");
const OPAQUE = "5f1c0de2a9b84c7f93d1";

const PORTAL_STRINGS: [how: string, text: string, token?: string][] = [
  ["as the portal copies it", `bearer ${JWT}`],
  ["that lacks the word bearer", JWT],
  ["as a whole header", `Authorization: bearer ${JWT}`],
  ["in double quotes", `"bearer ${JWT}"`],
  ["in typographic quotes", `“bearer ${JWT}”`],
  ["with a no-break space after bearer", `bearer\u00a0${JWT}`],
  ["with invisible characters around it", `\u2060\u00adbearer\u200b ${JWT}\u200e\u2069\u{e0020}`],
  ["split into lines", `bearer ${JWT.slice(0, 20)}\r\n${JWT.slice(20, 60)}\n  ${JWT.slice(60)}`],
  ["with an opaque token of 20 characters", `bearer ${OPAQUE}`, OPAQUE],
];
for (const [how, text, token = JWT] of PORTAL_STRINGS) {
  Deno.test(`parsePortalToken() reads the portal string ${how}`, () => {
    assertEquals(parsePortalToken(text), token);
  });
}

/** Texts that are typed or piped by mistake: each is a user name, a password or a part of a token. */
const OTHER_TEXTS: [what: string, text: string, said: string][] = [
  ["nothing", "\r\n", "empty"],
  ["a user name that begins with eyJ", "eyJackson", "only the beginning"],
  ["an e-mail address", "bearer@example.com", "not a portal string"],
  ["an opaque token without bearer", OPAQUE, "not a portal string"],
  ["an opaque token of 19 characters", `bearer ${OPAQUE.slice(1)}`, "too short"],
  ["a JWT whose header is not JSON", `bearer eyJ${"x".repeat(40)}.b.c`, "damaged"],
  ["a JWT whose claims are not JSON", `bearer ${HEADER}.${CLAIMS?.slice(1)}.c`, "damaged"],
  ["a JWT without a signature", `bearer ${HEADER}.${CLAIMS}.`, "only the beginning"],
  ["a refresh token", `bearer ${HEADER}.b.c.d.e`, "refresh token"],
  ["a token with a blank", `bearer ${JWT.replace(".", " .")}`, "cannot occur in a token"],
  ["a token with an escape", `bearer ${JWT.replace(".", "\u001b.")}`, "cannot occur in a token"],
];
for (const [what, text, said] of OTHER_TEXTS) {
  Deno.test(`parsePortalToken() rejects ${what}, and the error does not quote it`, () => {
    const error = assertThrows(() => parsePortalToken(text), ConfigError);
    assertEquals(error.code, "INVALID_PORTAL_TOKEN");
    assertStringIncludes(error.message, said);
    assertEquals(repeatedPart(Deno.inspect(error), [text]), undefined);
  });
}
