import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Answers, type Ask, ChallengeError } from "../../../mod.ts";
import {
  authenticatorKey,
  totpCode,
  totpStep,
} from "../../../src/sandbox/identity_provider/challenges/totp.ts";
import { BY_MAIL, outcome, respondTo, USERNAME, worldOf } from "./cases.ts";
import { portless, rejection } from "../../support/portless.ts";
import { brokenConnection } from "../../support/answers.ts";

type World = ReturnType<typeof worldOf>;

const AT_ONCE = { strategy: "environment" } as const;

/** The error of a login that stops at its first step. */
async function stopped(world: World): Promise<ChallengeError> {
  const error = await rejection(world.session.login(AT_ONCE));
  if (!(error instanceof ChallengeError)) throw error;
  return error;
}

const right = ({ sandbox }: World) => ({ EMAIL_OTP_CODE: sandbox.codes.at(-1)?.code ?? "" });

Deno.test("an answer that does not match the request is not sent, and can be repeated", async () => {
  await using world = worldOf({ ...BY_MAIL, challenge: ["EMAIL_OTP", "SELECT_MFA_TYPE"] });
  const error = await stopped(world);
  const before = world.sandbox.requests.length;
  const wrong: [unknown, RegExp][] = [
    [undefined, /^respond\(\) takes \{ EMAIL_OTP_CODE \}, each a string, and nothing else$/],
    [{}, /EMAIL_OTP_CODE is missing or not a string$/],
    [{ EMAIL_OTP_CODE: " " }, /EMAIL_OTP_CODE is missing or not a string$/],
  ];
  for (const [answers, said] of wrong) {
    const found = await rejection(error.respond(answers as Answers));
    assertEquals(found.name, "TypeError");
    assertMatch(found.message, said);
  }
  assertEquals(world.sandbox.requests.length, before);
  const next = await rejection(error.respond(right(world)));
  assertMatch(next.message, /SELECT_MFA_TYPE: How to get a code\)/);
  const choice = await rejection(error.respond({ ANSWER: "PIGEON" }));
  assertMatch(choice.message, /ANSWER must be one of SOFTWARE_TOKEN_MFA, EMAIL_OTP$/);
  const given = world.another().login({ onChallenge: () => "123456" as never });
  assertMatch((await rejection(given)).message, /^onChallenge must return \{ EMAIL_OTP_CODE \}/);
});

Deno.test("the third refused answer ends the login, and the next one is not sent", async () => {
  await using world = worldOf(BY_MAIL);
  const error = await stopped(world);
  const attempts = [];
  for (let each: Error & { code?: string } = error; attempts.length < 3;) {
    each = await rejection(error.respond({ EMAIL_OTP_CODE: "0" }));
    attempts.push(`${each.code} ${(each as ChallengeError).challenge.attempt}`);
    if (attempts.length === 3) assertMatch(each.message, /for the third time in a row; run login/);
  }
  assertEquals(attempts, ["CODE_REJECTED 2", "CODE_REJECTED 3", "CODE_REJECTED 3"]);
  const before = world.sandbox.requests.length;
  assertEquals(await outcome(error.respond(right(world))), "CHALLENGE_EXPIRED");
  assertEquals(world.sandbox.requests.length, before);
});

Deno.test("an answer after the provider's three minutes is CHALLENGE_EXPIRED, and the next login is a new one", async () => {
  await using world = worldOf(BY_MAIL);
  const error = await stopped(world);
  world.clock.advance(181);
  const late = await rejection(error.respond(right(world)));
  assertEquals(late.code, "CHALLENGE_EXPIRED");
  assertMatch(late.message, /session is expired\); run login\(\) again/);
  assertEquals(world.another().status().state, "none");
  assertEquals(await outcome((await stopped(world)).respond(right(world))), "valid");
});

Deno.test("a later login or logout wins over the login that waits for an answer", async () => {
  await using world = worldOf(BY_MAIL);
  for (const later of ["logout", "login"] as const) {
    const error = await stopped(world);
    const answers = right(world);
    if (later === "logout") await world.session.logout();
    else await world.session.login({ portalToken: await world.sandbox.portalToken() });
    const before = [world.sandbox.requests.length, world.session.status().source];
    assertEquals(await outcome(error.respond(answers)), "CHALLENGE_EXPIRED");
    assertEquals([world.sandbox.requests.length, world.session.status().source], before);
  }
});

const FAULTS: [string, () => Response, string, number][] = [
  ["a 503", () => new Response("", { status: 503 }), "valid", 2],
  ["a connection that breaks", brokenConnection, "UNREACHABLE", 1],
];
for (const [what, fault, state, sent] of FAULTS) {
  Deno.test(`an answer is sent again only if it was certainly not checked: ${what}`, async () => {
    await using world = worldOf(BY_MAIL);
    let count = 0;
    const fetch: typeof globalThis.fetch = (input, init) => {
      const isAnswer = String(init?.body).includes("EMAIL_OTP_CODE");
      if (isAnswer && ++count === 1) return Promise.try(fault);
      return (world.options.fetch ?? globalThis.fetch)(input, init);
    };
    const error = await rejection(world.another({ fetch }).login(AT_ONCE)) as ChallengeError;
    assertEquals([await outcome(error.respond(right(world))), count], [state, sent]);
    // Whoever knows better may answer again.
    if (state !== "valid") assertEquals(await outcome(error.respond(right(world))), "valid");
  });
}

Deno.test("an answer after a refusal contains the provider's newest session string", async () => {
  await using world = worldOf(BY_MAIL);
  const sessions: string[] = [];
  const refused = (Session?: string) =>
    Response.json({ __type: "CodeMismatchException", message: "no", Session }, { status: 400 });
  const fetch: typeof globalThis.fetch = (input, init) => {
    const { Session = "" } = JSON.parse(String(init?.body));
    sessions.push(Session);
    if (sessions.length === 1) return (world.options.fetch ?? globalThis.fetch)(input, init);
    return Promise.resolve(refused(sessions.length === 3 ? "the-newest" : undefined));
  };
  const login = world.another({ fetch }).login({ onChallenge: () => ({ EMAIL_OTP_CODE: "0" }) });
  assertEquals((await rejection(login)).code, "CODE_REJECTED");
  const [, first = "", ...later] = sessions;
  assert(first.length > 20);
  assertEquals(later, [first, "the-newest"]);
});

Deno.test("an answer contains the provider's name of the user, and the hash of that name", async () => {
  const sandbox = { aliasSignIn: true, challenge: ["SMS_MFA", "CUSTOM_CHALLENGE"] };
  await using world = portless({ sandbox });
  const status = await respondTo(
    world.session.login(AT_ONCE),
    ({ name }) =>
      name === "SMS_MFA"
        ? { SMS_MFA_CODE: world.sandbox.codes.at(-1)?.code ?? "" }
        : { ANSWER: "weather data platform" },
  );
  assertEquals(status.state, "valid");
});

const ELSEWHERE: [string, RegExp][] = [
  [
    "PASSWORD_VERIFIER",
    /needs SRP.*ask the support channel .* to allow the flow USER_PASSWORD_AUTH/,
  ],
  ["DEVICE_SRP_AUTH", /needs SRP.*ask the support channel .* to switch off remembered devices/],
  ["WEB_AUTHN", /a passkey needs a browser/],
  ["SOMETHING_NEW", /does not know that step/],
];
for (const [challenge, said] of ELSEWHERE) {
  Deno.test(`${challenge} is reported as it came, with what to do`, async () => {
    await using world = worldOf({ challenge });
    const onChallenge = () => {
      throw new Error("there is nothing to answer");
    };
    const error = await rejection(world.session.login({ onChallenge })) as ChallengeError;
    assertEquals([error.code, error.challenge.name], ["CHALLENGE_REQUIRED", challenge]);
    assertMatch(error.message, said);
    assertMatch(error.fix, /login\(\{ strategy: "portal" \}\)$/);
    assertEquals(error.challenge.asks, []);
    assertEquals(await outcome(error.respond({})), "CHALLENGE_REQUIRED");
    assertEquals(world.sandbox.requests.length, 1);
  });
}

Deno.test("the key for an app is text and address, and seen only by who asks for it", async () => {
  await using world = worldOf({ challenge: "MFA_SETUP" });
  const { challenge, fix } = await stopped(world);
  assertMatch(
    fix,
    /respond\(\{ SOFTWARE_TOKEN_MFA_CODE: "…" \}\) .*key is in its challenge\.authenticator/,
  );
  const { secret = "", address = "" } = challenge.authenticator ?? {};
  const host = new URL(world.sandbox.authUrl).hostname;
  assertEquals(address, `otpauth://totp/${host}:ada?secret=${secret}&issuer=${host}`);
  const step = totpStep(world.clock.provider());
  assertEquals(
    totpCode(authenticatorKey(address) ?? new Uint8Array(), step),
    await world.sandbox.totp(USERNAME),
  );
  const shown = Deno.inspect(challenge, { depth: 9, showHidden: true, getters: true });
  assert(!`${JSON.stringify(challenge)} ${shown} ${challenge.authenticator}`.includes(secret));
  const asked: string[] = [];
  const prompt: Ask = (message) => {
    asked.push(message);
    return asked.length === 1 ? "0" : null;
  };
  const again = await rejection(world.another({ prompt }).login());
  assertEquals(again.code, "CODE_REJECTED");
  assertMatch(asked[0] ?? "", /key: +([A-Z2-7]{4} )+.*\n +address: otpauth:\/\/totp\//);
  assert(!asked[1]?.includes("otpauth"), "the key is told once");
});
