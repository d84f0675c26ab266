import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { AuthError, ProviderError, SessionExpiredError } from "../../mod.ts";
import { portless, type PortlessOptions, rejection } from "../support/portless.ts";
import { errorAnswer, jwt, tokenAnswer } from "../support/answers.ts";

const REFRESH_TOKEN = "refresh-token-of-the-test";

/** A provider that takes the first login and answers everything after that so. */
function after(answer: () => Response): PortlessOptions {
  return {
    session: { refreshSecretHash: "omit" },
    provider: (_, count) =>
      count === 1
        ? tokenAnswer({ AccessToken: jwt({}), RefreshToken: REFRESH_TOKEN, ExpiresIn: 1800 })
        : answer(),
  };
}

/** The errors of a login and of a refresh that are answered so. */
async function errorsOf(answer: () => Response) {
  await using world = portless(after(answer));
  await world.session.login();
  const before = world.sent.length;
  const onLogin = await rejection(world.session.login({ force: true }));
  const loginsSent = world.sent.length - before;
  const onRefresh = await rejection(world.session.refresh());
  const { state } = world.session.status();
  return { onLogin, onRefresh, loginsSent, refreshesSent: world.refreshes(), state };
}

const TABLE: [name: string, message: string, status: number, login: string, refresh: string][] = [
  [
    "NotAuthorizedException",
    "Incorrect username or password.",
    400,
    "INVALID_CREDENTIALS",
    "REFRESH_REJECTED",
  ],
  ["NotAuthorizedException", "User not authorized", 400, "INVALID_CREDENTIALS", "REFRESH_REJECTED"],
  ["InvalidPasswordException", "Wrong.", 400, "INVALID_CREDENTIALS", "REFRESH_REJECTED"],
  ["UserNotFoundException", "No such user.", 400, "INVALID_CREDENTIALS", "REFRESH_REJECTED"],
  ["NotAuthorizedException", "Password attempts exceeded", 400, "LOCKED_OUT", "LOCKED_OUT"],
  [
    "NotAuthorizedException",
    "Unable to verify secret hash for client x",
    400,
    "SECRET_HASH_REJECTED",
    "SECRET_HASH_REJECTED",
  ],
  [
    "NotAuthorizedException",
    "Client x is configured with secret but SECRET_HASH was not received",
    400,
    "SECRET_HASH_REJECTED",
    "SECRET_HASH_REJECTED",
  ],
  [
    "ResourceNotFoundException",
    "User pool client x does not exist.",
    400,
    "CLIENT_UNKNOWN",
    "CLIENT_UNKNOWN",
  ],
  [
    "InvalidParameterException",
    "USER_PASSWORD_AUTH flow not enabled for this client",
    400,
    "FLOW_DISABLED",
    "FLOW_DISABLED",
  ],
  [
    "InvalidParameterException",
    "Initiate Auth method not supported.",
    400,
    "FLOW_DISABLED",
    "FLOW_DISABLED",
  ],
  ["InvalidParameterException", "Missing required parameter X", 400, "REJECTED", "REJECTED"],
  [
    "PasswordResetRequiredException",
    "Password reset required for the user",
    400,
    "PASSWORD_RESET_REQUIRED",
    "PASSWORD_RESET_REQUIRED",
  ],
  [
    "UserNotConfirmedException",
    "User is not confirmed.",
    400,
    "USER_NOT_CONFIRMED",
    "USER_NOT_CONFIRMED",
  ],
  ["TooManyRequestsException", "Rate exceeded", 400, "THROTTLED", "THROTTLED"],
  ["LimitExceededException", "Attempt limit exceeded", 400, "THROTTLED", "THROTTLED"],
  ["ThrottlingException", "Rate exceeded", 400, "THROTTLED", "THROTTLED"],
  ["SomethingElseException", "slow down", 429, "THROTTLED", "THROTTLED"],
  ["InternalErrorException", "oops", 400, "SERVER_ERROR", "SERVER_ERROR"],
  ["InternalErrorException", "oops", 500, "SERVER_ERROR", "SERVER_ERROR"],
  ["SomethingElseException", "oops", 503, "SERVER_ERROR", "SERVER_ERROR"],
  ["ForbiddenException", "Request blocked by the firewall", 403, "BLOCKED", "BLOCKED"],
  ["NeverHeardOfException", "no", 400, "REJECTED", "REJECTED"],
];

for (const [name, message, status, login, refresh] of TABLE) {
  Deno.test(`${status} ${name} "${message}" is ${login} and ${refresh}`, async () => {
    const { onLogin, onRefresh, state } = await errorsOf(() => errorAnswer(name, message, status));
    assertEquals([onLogin.code, onRefresh.code], [login, refresh]);
    assertInstanceOf(onLogin, ProviderError);
    assertInstanceOf(
      onRefresh,
      refresh === "REFRESH_REJECTED" ? SessionExpiredError : ProviderError,
    );
    assertEquals((onLogin as ProviderError).status, status);
    assertEquals((onLogin as ProviderError).providerCode, name);
    for (const error of [onLogin, onRefresh]) {
      assertInstanceOf(error, AuthError);
      assert(error.message.startsWith("Cannot "), error.message);
      // What was seen, then what to do next.
      assertMatch(error.message, /\(status \d+,.*\).*; \w+/);
    }
    assertEquals(state, "valid", "a refusal does not take the good token away");
  });
}

Deno.test("an error name is found in every form in which it is sent", async () => {
  const body = (value: unknown, headers: HeadersInit = {}) => () =>
    new Response(JSON.stringify(value), { status: 400, headers });
  const forms = [
    body({ __type: "com.example.idp#UserNotConfirmedException", message: "m" }),
    body({ __type: "UserNotConfirmedException:http://example/", Message: "m" }),
    body({ code: "UserNotConfirmedException", message: "m" }),
    body({}, { "x-amzn-errortype": "UserNotConfirmedException:" }),
  ];
  for (const form of forms) {
    assertEquals((await errorsOf(form)).onLogin.code, "USER_NOT_CONFIRMED");
  }
});

Deno.test("the request id and the number of attempts are on the error", async () => {
  const { onLogin, onRefresh } = await errorsOf(() =>
    Response.json({ __type: "InternalErrorException", message: "m" }, {
      status: 500,
      headers: { "x-amzn-RequestId": "request-17" },
    })
  );
  for (const error of [onLogin, onRefresh]) {
    const { requestId, attempts } = error as ProviderError;
    assertEquals(requestId, "request-17");
    assert(attempts > 1);
    assertMatch(error.message, new RegExp(`after ${attempts} attempts`));
  }
});

const ODD: [string, () => Response, string][] = [
  [
    "an HTML page at 200",
    () => new Response("<html>Sign in to the WLAN</html>"),
    "UNEXPECTED_RESPONSE",
  ],
  ["an HTML page at 400", () => new Response("<html>", { status: 400 }), "UNEXPECTED_RESPONSE"],
  ["an HTML page at 502", () => new Response("<html>", { status: 502 }), "SERVER_ERROR"],
  ["an empty body at 200", () => new Response(""), "UNEXPECTED_RESPONSE"],
  ["half a JSON text", () => new Response('{"AuthenticationResult":{"Acc'), "UNEXPECTED_RESPONSE"],
  ["JSON null", () => Response.json(null), "UNEXPECTED_RESPONSE"],
  ["a JSON array", () => Response.json([]), "UNEXPECTED_RESPONSE"],
  ["an empty object", () => Response.json({}), "UNEXPECTED_RESPONSE"],
  ["a result without token", () => tokenAnswer({ ExpiresIn: 1800 }), "UNEXPECTED_RESPONSE"],
  ["a token that is a number", () => tokenAnswer({ AccessToken: 5 }), "UNEXPECTED_RESPONSE"],
  ["a token of two lines", () => tokenAnswer({ AccessToken: "a\nB=1" }), "UNEXPECTED_RESPONSE"],
  [
    "a refresh token of two lines",
    () => tokenAnswer({ AccessToken: "a", RefreshToken: "a\nB=1" }),
    "UNEXPECTED_RESPONSE",
  ],
  ["a 404 without a name", () => new Response("not here", { status: 404 }), "UNEXPECTED_RESPONSE"],
  ["a 407", () => new Response("proxy", { status: 407 }), "UNEXPECTED_RESPONSE"],
];

for (const [what, answer, code] of ODD) {
  Deno.test(`${what} is ${code}, and the session stays`, async () => {
    const { onLogin, onRefresh, state } = await errorsOf(answer);
    assertEquals([onLogin.code, onRefresh.code], [code, code]);
    assertInstanceOf(onLogin, ProviderError);
    assertEquals(state, "valid");
    assert(!onLogin.message.includes("WLAN"), "a foreign page is not quoted");
  });
}

Deno.test("unknown members and odd extras of an answer are passed over", async () => {
  await using world = portless({
    provider: () =>
      tokenAnswer({
        AccessToken: jwt({}),
        RefreshToken: null,
        ExpiresIn: "1800",
        IdToken: 5,
        TokenType: null,
        NewDeviceMetadata: { DeviceKey: "k" },
      }),
  });
  const { state, canRefresh, accessTokenExpiresAt } = await world.session.login();
  assertEquals([state, canRefresh], ["valid", false]);
  assertEquals(accessTokenExpiresAt, new Date(world.clock.now() + 1_800_000));
});

Deno.test("an error that repeats what was sent is not quoted", async () => {
  await using world = portless({
    provider: (sent) => errorAnswer("OddException", `got ${Object.values(sent.parameters).join()}`),
  });
  const error = await rejection(world.session.login());
  const shown = `${error.message}\n${Deno.inspect(error)}\n${JSON.stringify(error)}`;
  for (const secret of Object.values(world.sent[0]?.parameters ?? {}).slice(1)) {
    assert(!shown.includes(secret), "a secret is in the error");
  }
  assertEquals(error.code, "REJECTED");
});
