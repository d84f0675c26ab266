/** The fields, classes and codes of errors. */
import { assertEquals, assertMatch } from "@std/assert";
import {
  ApiError,
  AuthError,
  ConfigError,
  ProviderError,
  SessionExpiredError,
  typeError,
  UnreachableError,
} from "../../src/errors/errors.ts";
import { rejection, signedIn } from "../support/portless.ts";
import { ChallengeError } from "../../src/session/challenges/challenge.ts";

const CLASSES = {
  ...{ AuthError, ConfigError, ProviderError, ChallengeError, ApiError, SessionExpiredError },
  TypeError,
};

const DISK_FULL = Object.assign(new Error("No space left (os error 28)"), { code: "ENOSPC" });
const CALL = { method: "GET", url: "https://api.example/v1/x" };
const ERRORS = [
  [new AuthError("INTERRUPTED", "Stopped", "run it again"), "AuthError", {}],
  [
    new ConfigError("FILE", "Cannot save x", "make room", DISK_FULL),
    "ConfigError",
    { cause: { name: "Error", code: "ENOSPC" } },
  ],
  [
    new ProviderError("THROTTLED", "Cannot log in", "wait", { status: 429 }),
    "ProviderError",
    { status: 429, attempts: 0 },
  ],
  [
    new ApiError("API_STATUS", "Cannot GET x", "check it", {
      ...CALL,
      status: 422,
      body: { message: "only in the body" },
    }),
    "ApiError",
    { ...CALL, status: 422 },
  ],
  [new SessionExpiredError("NO_SESSION", "No session", "log in"), "SessionExpiredError", {}],
  [
    new UnreachableError("Cannot reach x", "check the network", DISK_FULL),
    "TypeError",
    { cause: { name: "Error", code: "ENOSPC" } },
  ],
] as const;

for (const [error, name, fields] of ERRORS) {
  Deno.test(`the message and the JSON of ${name} ${error.code} contain its problem, fix and code`, () => {
    const { code, problem, fix } = error;
    assertEquals(error.name, name);
    const topic = "status" in fields && code === "API_STATUS" ? fields.status : code;
    assertEquals(error.message, `${problem}; ${fix} (help: platform-auth explain ${topic})`);
    assertEquals(JSON.parse(JSON.stringify(error)), { name, code, problem, fix, ...fields });
    assertEquals(error.cause, "cause" in fields ? fields.cause : undefined);
    // A program that logs the error shows the problem once, and never the body.
    const logged = Deno.inspect(error);
    assertEquals([logged.split(problem).length, logged.includes("body")], [2, false], logged);
  });
}

Deno.test("each error with a code is an instance of its own class and of AuthError", () => {
  const step = { name: "SMS_MFA", parameters: {}, asks: [], attempt: 1 };
  const challenge = new ChallengeError("CODE_REJECTED", "It was wrong", "try again", step);
  for (const error of [...ERRORS.map(([error]) => error), challenge, new TypeError("other")]) {
    const found = Object.entries(CLASSES).filter(([, type]) => error instanceof type);
    const names = "code" in error ? ["AuthError", error.name] : [error.name];
    assertEquals(new Set(found.map(([name]) => name)), new Set(names), error.message);
  }
});

Deno.test("an error contains no character that reverses text or moves the cursor", () => {
  const hostile = "a\u202eb\u0007c\u001b[31m\u009bd\u2028e\r\nf";
  for (const error of [new AuthError("REJECTED", hostile, hostile), typeError(hostile)]) {
    assertMatch(error.message, /^abc\[31mdef/);
    const all = `${error.stack}`.replaceAll("\n", "") + JSON.stringify(error);
    assertEquals(all.match(/\p{Cc}|\p{Cf}|\u2028/u), null);
  }
});

Deno.test("a bug during a refresh is not reported as a failure of the provider", async () => {
  let isBroken = false;
  const random = () => {
    if (isBroken) throw new TypeError("x is not a function");
    return 0.5;
  };
  await using world = await signedIn({ session: { random } });
  world.clock.advance(1_780);
  isBroken = true;
  const { name, message } = await rejection(world.session.accessToken());
  assertEquals([name, message], ["TypeError", "x is not a function"]);
});
