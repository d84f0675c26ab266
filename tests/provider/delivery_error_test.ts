import { assert, assertEquals, assertMatch } from "@std/assert";
import { type CredentialOrigins, deliveryError } from "../../src/provider/delivery_error.ts";
import type { Delivery } from "../../src/provider/send.ts";
import type { Outcome } from "../../src/provider/protocol.ts";

function delivered(outcome: Outcome): Delivery {
  const none = { clockOffsetMs: undefined, retryAfterSeconds: undefined };
  return { outcome, attempts: 1, sentAt: 0, sentAtMonotonic: 0, ...none };
}

function rejected(code: "INVALID_CREDENTIALS" | "LOCKED_OUT", origins?: CredentialOrigins): string {
  const seen = "status 400, NotAuthorizedException: Incorrect username or password";
  const outcome = { kind: "refused", code, repeatable: false, isFinal: false, seen } as const;
  return deliveryError("login", delivered(outcome), 0, undefined, "2 in a row", origins).message;
}

const origins: [string, CredentialOrigins, RegExp][] = [
  [
    "the environment",
    { username: "environment", password: "environment" },
    /; both came from the environment \(USERNAME, PASSWORD\); 2 in a row; check both/,
  ],
  [
    "the .env and a prompt",
    { username: "file", password: "typed", envFile: "/home/ada/.env" },
    /; the user name came from USERNAME in \/home\/ada\/\.env, the password was typed; 2 in a row; /,
  ],
  ["questions", { username: "typed", password: "typed" }, /; both were typed; 2 in a row; /],
  [
    "options and the environment",
    { username: "option", password: "environment" },
    /; the user name came as an option, the password came from PASSWORD in the environment; /,
  ],
  [
    "options",
    { username: "option", password: "option" },
    /; both came as options; /,
  ],
];
for (const [place, from, told] of origins) {
  Deno.test(`a rejected login says that user name and password came from ${place}`, () =>
    assertMatch(rejected("INVALID_CREDENTIALS", from), told));
}

Deno.test("where they came from is told only when they are rejected, and known", () => {
  const from = { username: "typed", password: "typed" } as const;
  assert(!rejected("LOCKED_OUT", from).includes("typed"));
  assertMatch(rejected("INVALID_CREDENTIALS"), /password\); 2 in a row; check both/);
});

Deno.test("a refused refresh names the age of a login that is over 30 days old", () => {
  const outcome = {
    kind: "refused",
    code: "REFRESH_REJECTED",
    repeatable: false,
    isFinal: true,
    seen: "status 400, NotAuthorizedException: Refresh Token has expired",
  } as const;
  const after = (ms: number) => deliveryError("refresh", delivered(outcome), ms, 0);
  const month = 30 * 86_400_000;
  assertEquals(after(month).code, "REFRESH_REJECTED");
  assertEquals(
    after(month).problem,
    "Cannot refresh the session: the provider rejected the refresh token (status 400, " +
      "NotAuthorizedException: Refresh Token has expired)",
  );
  assertEquals(after(month + 1).code, "REFRESH_WINDOW_OVER");
  assertEquals(
    after(month + 1).problem,
    "Cannot refresh the session: the login is 30 days old and the provider no longer accepts its " +
      "refresh token",
  );
  assertEquals(after(month + 1).fix, "run login({ force: true })");
});

Deno.test("an answer of the wrong kind is UNEXPECTED_RESPONSE, and nothing is repeated", () => {
  const step = {
    kind: "challenge",
    name: "SMS_MFA",
    parameters: {},
    attributes: [],
    username: undefined,
    session: undefined,
  } as const;
  const problem = (outcome: Outcome) => {
    const { code, problem } = deliveryError("refresh", delivered(outcome), 0);
    assertEquals(code, "UNEXPECTED_RESPONSE");
    return problem;
  };
  assertMatch(problem(step), /\(a further step, SMS_MFA, where none belongs\)$/);
  assertMatch(problem({ kind: "done" }), /\(an answer to another request\)$/);
});
