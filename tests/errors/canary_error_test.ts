import { assert, assertEquals, assertMatch } from "@std/assert";
import * as module from "../../mod.ts";
import { CODES } from "../../src/errors/errors.ts";
import { assertHides, canaries, issued, SETTINGS, tokenLines } from "../support/canaries.ts";
import { type Canned, cannedFetch } from "../support/canned_fetch.ts";
import {
  brokenConnection,
  errorAnswer,
  jsonAnswer,
  refusedConnection,
} from "../support/answers.ts";
import { Clock } from "../support/clock.ts";
import { inFolder } from "../support/child_deno.ts";
import { withLog } from "./kept_log.ts";

const { AuthError, createSession } = module;

/** An error response that repeats every secret of the request. */
const echo: Canned = (asked) => {
  const sent = Object.values<string>(JSON.parse(asked.body).AuthParameters);
  const [secret = ""] = sent.filter((text) => text !== SETTINGS.username);
  const headers = {
    "x-amzn-requestid": encodeURIComponent(secret),
    location: `https://${encodeURIComponent(secret)}.example`,
  };
  return errorAnswer(`Odd${secret}`, `${sent} ${canaries.clientSecret}`, 400, headers);
};

/** A response that repeats the secrets of the request: headers, and the address as it is and decoded. */
const echoOfCall = (status: number): Canned => ({ url, headers }) => {
  const sent = ["authorization", "x-api-key"].map((name) => headers.get(name));
  const text = [...sent, url, decodeURIComponent(url)].join(" ");
  return new Response(text, { status, headers: { "x-request-id": encodeURIComponent(text) } });
};
const WITH_KEY = { "x-api-key": canaries.clientSecret };
// A colon need not be encoded, so other programs write this signature in another way.
const ECHOED = `/x?signature=v1:${encodeURIComponent(canaries.password)}`;

type Scenario = (session: (...answers: Canned[]) => module.Session, folder: string) => unknown;

const login = (...answers: Canned[]): Scenario => (session) => session(...answers).login();
const refuse = (name: string, message: string) => login(errorAnswer(name, message));
/** Logs in, then does the work with this response to its request. */
const afterLogin = (
  answer: Canned,
  work: (session: module.Session, folder: string) => unknown,
): Scenario =>
async (session, folder) => {
  const one = session(issued(), answer);
  await one.login();
  await work(one, folder);
};
const call = (session: module.Session) => session.fetchJson(ECHOED, { headers: WITH_KEY });
const refresh = (answer: Canned) => afterLogin(answer, (session) => session.refresh());
/** A further step, whose session is a secret. */
const step = (ChallengeName: string): Canned =>
  jsonAnswer({ ChallengeName, Session: canaries.stepSession, ChallengeParameters: { m: "1" } });
const key = jsonAnswer({
  SecretCode: canaries.authenticatorKey,
  Session: canaries.stepSession,
});
/** A refusal that repeats only this secret: any other secret would already hide the message. */
const refusedStep = (name: string, secret: string): Canned => errorAnswer(name, `Not ${secret}`);
/** Answers each further step, and receives `last` as the response. */
const answered = (last: Canned, ...answers: Canned[]): Scenario => async (session) => {
  const { newPassword, code } = canaries;
  const answer = ({ name }: module.ChallengeAsk) => name === "NEW_PASSWORD" ? newPassword : code;
  await session(...answers, last).login({
    onChallenge: async (challenge) => {
      await assertHides(challenge, "the challenge");
      return Object.fromEntries(challenge.asks.map((ask) => [ask.name, answer(ask)]));
    },
  });
};
const atFile =
  (text: string | Uint8Array<ArrayBuffer>, work: (session: module.Session) => unknown): Scenario =>
  async (_, folder) => {
    const envFile = `${folder}/.env`;
    if (typeof text === "string") await Deno.writeTextFile(envFile, text);
    else await Deno.writeFile(envFile, text);
    const gone = errorAnswer("NotAuthorizedException", "Refresh Token has expired");
    await work(createSession({ ...SETTINGS, envFile, fetch: cannedFetch(gone).fetch }));
  };

const scenarios: [module.AuthErrorCode, Scenario][] = [
  ["MISSING_SETTINGS", () => createSession({ password: canaries.password }).login()],
  ...[
    { authUrl: canaries.password },
    { authUrl: `https://a:${encodeURIComponent(canaries.password)}@b.example` },
    { clientId: canaries.password },
    { clientSecret: `${canaries.clientSecret}\n1` },
    { userPoolId: canaries.password },
    { provider: canaries.password as "aws" },
    { exportEnv: canaries.password as "none" },
  ].map((wrong): [module.AuthErrorCode, Scenario] => [
    "INVALID_SETTING",
    () => createSession({ ...SETTINGS, ...wrong }).login(),
  ]),
  ["INVALID_PORTAL_TOKEN", (session) => session().login({ portalToken: canaries.password })],
  [
    "INVALID_PORTAL_TOKEN",
    () => module.parsePortalToken(`${canaries.accessToken}; ${canaries.refreshToken}`),
  ],
  [
    "ENV_FILE",
    atFile(
      new TextEncoder().encode(tokenLines("É=1")).map((it) => it === 0xc3 ? 0xff : it),
      (session) => session.logout(),
    ),
  ],
  [
    "UNTRUSTED_ORIGIN",
    (session) => session().authFetch(`https://elsewhere.example/?token=${canaries.accessToken}`),
  ],
  [
    "UNTRUSTED_ORIGIN",
    (session) =>
      session().authFetch(`https://ada:${encodeURIComponent(canaries.password)}@api.example/`),
  ],
  ["TOKEN_UNAVAILABLE", () => {
    const token = () => Promise.reject(new Error(`no token for ${canaries.accessToken}`));
    return createSession({ ...SETTINGS, token }).accessToken();
  }],
  ["TOKEN_UNAVAILABLE", () => {
    const token = () => Promise.resolve(`${canaries.accessToken}; ${canaries.password}`);
    return createSession({ token }).accessToken();
  }],
  ["STORE_UNREACHABLE", () => {
    const store = `redis://:${encodeURIComponent(canaries.password)}@127.0.0.1:9/`;
    return createSession({ ...SETTINGS, store, timeoutMs: 20 }).accessToken();
  }],
  ["PROMPT_UNAVAILABLE", (session) => session().login({ strategy: "portal" })],
  ["INVALID_CREDENTIALS", refuse("NotAuthorizedException", "Incorrect username or password.")],
  ["LOCKED_OUT", refuse("NotAuthorizedException", "Password attempts exceeded")],
  ["SECRET_HASH_REJECTED", refuse("NotAuthorizedException", "Unable to verify secret hash")],
  ["CLIENT_UNKNOWN", refuse("ResourceNotFoundException", `no such client ${canaries.password}`)],
  ["FLOW_DISABLED", refuse("InvalidParameterException", "Initiate Auth method not supported")],
  ["PASSWORD_RESET_REQUIRED", refuse("PasswordResetRequiredException", "reset")],
  ["USER_DISABLED", refuse("NotAuthorizedException", "User is disabled.")],
  ["BLOCKED", refuse("ForbiddenException", `WAF block of ${canaries.password}`)],
  ["USER_NOT_CONFIRMED", refuse("UserNotConfirmedException", "confirm")],
  ["THROTTLED", refuse("TooManyRequestsException", "Rate exceeded")],
  ["REJECTED", login(echo)],
  ["REJECTED", refresh(echo)],
  ["UNEXPECTED_RESPONSE", login(({ body }) => new Response(body))],
  ["UNEXPECTED_RESPONSE", refresh(({ body }) => new Response(`<html>${body}`))],
  [
    "UNEXPECTED_RESPONSE",
    login(jsonAnswer({ AuthenticationResult: { AccessToken: [canaries.password] } })),
  ],
  ["UNREACHABLE", login(brokenConnection)],
  ["UNREACHABLE", refresh(refusedConnection)],
  [
    "UNREACHABLE",
    login(({ body }) => {
      throw new TypeError(`cannot send ${body}`, { cause: new Error(canaries.password) });
    }),
  ],
  ["TIMEOUT", () => {
    const { fetch } = cannedFetch(() => new Promise(() => {}));
    return createSession({ ...SETTINGS, fetch, timeoutMs: 20 }).login();
  }],
  ["SERVER_ERROR", login(({ body }) => new Response(body, { status: 500 }))],
  [
    "CHALLENGE_REQUIRED",
    login(({ body }) =>
      Response.json({
        ChallengeName: "SMS_MFA",
        ChallengeParameters: { seen: body, [canaries.password]: "" },
      })
    ),
  ],
  [
    "CODE_REJECTED",
    answered(refusedStep("CodeMismatchException", canaries.code), step("EMAIL_OTP")),
  ],
  [
    "CODE_REJECTED",
    answered(refusedStep("EnableSoftwareTokenMFAException", canaries.code), step("MFA_SETUP"), key),
  ],
  [
    "NEW_PASSWORD_REJECTED",
    answered(
      refusedStep("InvalidPasswordException", canaries.newPassword),
      step("NEW_PASSWORD_REQUIRED"),
    ),
  ],
  [
    "CHALLENGE_EXPIRED",
    answered(refusedStep("NotAuthorizedException", canaries.stepSession), step("CUSTOM_CHALLENGE")),
  ],
  ["REJECTED", answered(refusedStep("OddException", canaries.stepSession), step("SMS_MFA"))],
  ["UNEXPECTED_RESPONSE", answered(({ body }) => new Response(`<html>${body}`), step("SMS_OTP"))],
  [
    "LOCKED_OUT",
    answered(refusedStep("TooManyFailedAttemptsException", canaries.code), step("SMS_MFA")),
  ],
  ["API_STATUS", afterLogin(echoOfCall(404), call)],
  ["API_BODY", afterLogin(echoOfCall(200), call)],
  [
    "API_TIMEOUT",
    afterLogin(
      () => new Promise(() => {}),
      (session) => session.fetchJson(ECHOED, { headers: WITH_KEY, idleTimeoutMs: 1, retries: 0 }),
    ),
  ],
  [
    "DOWNLOAD_BROKEN",
    afterLogin(
      () => new Response("half", { headers: { "content-length": "8" } }),
      (session, folder) => session.download(ECHOED, `${folder}/data.bin`),
    ),
  ],
  [
    "NO_SESSION",
    (session) => session().authFetch("/", { headers: WITH_KEY }),
  ],
  ["NO_SESSION", atFile(`ACCESS_TOKEN=${canaries.password}\n`, (session) => session.accessToken())],
  ["REFRESH_REJECTED", atFile(tokenLines(), (session) => session.refresh())],
  [
    "REFRESH_WINDOW_OVER",
    atFile(tokenLines("AUTHENTICATED_AT=2020-01-01T00:00:00Z"), (session) => session.refresh()),
  ],
  ["CANNOT_REFRESH", async (session) => {
    const one = session();
    await one.login({ portalToken: `bearer ${canaries.accessToken}` });
    await one.refresh();
  }],
];

/** Runs a scenario, and asserts that neither its error nor the log shows a secret. */
async function assertScenarioHides(code: module.AuthErrorCode, run: Scenario): Promise<void> {
  await inFolder(async (folder) => {
    const { options } = new Clock();
    const session = (...answers: Canned[]) => {
      const [first = issued(), ...rest] = answers;
      const { fetch } = cannedFetch(first, ...rest);
      return createSession({ ...SETTINGS, ...options, fetch, prompt: () => null });
    };
    let found: unknown;
    const lines = await withLog(async () => {
      try {
        await run(session, folder);
      } catch (error) {
        found = error;
      }
    });
    await assertHides(lines, `the log of ${code}`);
    assert(found instanceof AuthError, `${found}`);
    assertEquals((found as module.AuthError).code, code);
    await assertHides(found, code);
    const { cause } = found as module.AuthError;
    // The module reduces the cause to a class and a system code.
    const { name = "", code: systemCode = "", ...rest } = cause ?? {};
    assertEquals(rest, {});
    assertMatch(`${name} ${systemCode}`, /^\w* (os error \d+|\w*)$/);
  });
}

for (const [code, cases] of Map.groupBy(scenarios, ([code]) => code)) {
  Deno.test(`the error ${code} and the log contain no secret`, async (t) => {
    for (const [at, [, run]] of cases.entries()) {
      await t.step(`case ${at + 1}`, () => assertScenarioHides(code, run));
    }
  });
}

Deno.test("this file tests every error code except six", () => {
  const documented = new Set<string>(Object.keys(CODES));
  const provoked = new Set<string>(scenarios.map(([code]) => code));
  // PERMISSION needs a separate process, PACKAGE_UNAVAILABLE an empty cache, and INTERRUPTED a
  // notebook. The tests of downloads cover the others.
  assertEquals([...documented.difference(provoked)].sort(), [
    ...["API_UNREACHABLE", "FILE", "FILE_EXISTS"],
    ...["INTERRUPTED", "PACKAGE_UNAVAILABLE", "PERMISSION"],
  ]);
  assertEquals([...provoked.difference(documented)], []);
});
