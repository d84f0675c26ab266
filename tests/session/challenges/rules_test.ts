import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Answers, Ask, ChallengeError } from "../../../mod.ts";
import { totpIn } from "../../../src/sandbox/identity_provider/challenges/authenticators.ts";
import {
  BY_MAIL,
  codeByMail,
  NEW_PASSWORD,
  outcome,
  respondTo,
  stopped,
  USERNAME,
  worldOf,
} from "./cases.ts";
import { type Held, portless, rejection } from "../../support/portless.ts";
import { brokenConnection } from "../../support/answers.ts";

const AT_ONCE = { strategy: "environment" } as const;

Deno.test("an answer that does not fit its challenge causes a TypeError and is not sent", async () => {
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
  const next = await rejection(error.respond(codeByMail(world)));
  assertMatch(next.message, /SELECT_MFA_TYPE: How to get a code\)/);
  const choice = await rejection(error.respond({ ANSWER: "PIGEON" }));
  assertMatch(choice.message, /ANSWER must be one of SOFTWARE_TOKEN_MFA, EMAIL_OTP$/);
  const given = world.another().login({ onChallenge: () => "123456" as never });
  assertMatch((await rejection(given)).message, /^onChallenge must return \{ EMAIL_OTP_CODE \}/);
});

Deno.test("the third rejected answer ends the login", async () => {
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
  assertEquals(await outcome(error.respond(codeByMail(world))), "CHALLENGE_EXPIRED");
  assertEquals(world.sandbox.requests.length, before);
});

Deno.test("an answer after three minutes fails with CHALLENGE_EXPIRED, and another login works", async () => {
  await using world = worldOf(BY_MAIL);
  const error = await stopped(world);
  world.clock.advance(181);
  const late = await rejection(error.respond(codeByMail(world)));
  assertEquals(late.code, "CHALLENGE_EXPIRED");
  assertEquals(world.another().status().state, "none");
  assertEquals(await outcome((await stopped(world)).respond(codeByMail(world))), "valid");
});

Deno.test("a later login or logout ends a login that waits for an answer", async () => {
  await using world = worldOf(BY_MAIL);
  for (const later of ["logout", "login"] as const) {
    const error = await stopped(world);
    const answers = codeByMail(world);
    if (later === "logout") await world.session.logout();
    else await world.session.login({ portalToken: await world.sandbox.portalToken() });
    const before = [world.sandbox.requests.length, world.session.status().source];
    assertEquals(await outcome(error.respond(answers)), "CHALLENGE_EXPIRED");
    assertEquals([world.sandbox.requests.length, world.session.status().source], before);
  }
});

const FAULTS: [string, () => Response, string, number][] = [
  ["is sent again after a 503", () => new Response("", { status: 503 }), "valid", 2],
  ["is not sent again after a lost response", brokenConnection, "UNREACHABLE", 1],
];
for (const [what, fault, state, sent] of FAULTS) {
  Deno.test(`an answer ${what}`, async () => {
    await using world = worldOf(BY_MAIL);
    let count = 0;
    const fetch: typeof globalThis.fetch = (input, init) => {
      const isAnswer = String(init?.body).includes("EMAIL_OTP_CODE");
      if (isAnswer && ++count === 1) return Promise.try(fault);
      return (world.options.fetch ?? globalThis.fetch)(input, init);
    };
    const error = await rejection(world.another({ fetch }).login(AT_ONCE)) as ChallengeError;
    assertEquals([await outcome(error.respond(codeByMail(world))), count], [state, sent]);
    // The user may send the answer again.
    if (state !== "valid") assertEquals(await outcome(error.respond(codeByMail(world))), "valid");
  });
}

Deno.test("an answer after a rejected one contains the provider's latest session string", async () => {
  await using world = portless({
    provider: (_, count) =>
      count === 1
        ? Response.json({ ChallengeName: "EMAIL_OTP", ChallengeParameters: {}, Session: "first" })
        : Response.json(
          { __type: "CodeMismatchException", Session: count === 3 ? "latest" : undefined },
          { status: 400 },
        ),
  });
  const login = world.session.login({ onChallenge: () => ({ EMAIL_OTP_CODE: "0" }) });
  assertEquals((await rejection(login)).code, "CODE_REJECTED");
  assertEquals(world.sent.slice(1).map(({ body }) => body.Session), ["first", "first", "latest"]);
});

Deno.test("for a login with an alias, an answer contains the provider's user name and its SECRET_HASH", async () => {
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
  Deno.test(`the error for the challenge ${challenge} says what to do`, async () => {
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

Deno.test("the key for an authenticator app is shown only once, as text and as an otpauth address", async () => {
  await using world = worldOf({ challenge: "MFA_SETUP" });
  const { challenge, fix } = await stopped(world);
  assertMatch(
    fix,
    /respond\(\{ SOFTWARE_TOKEN_MFA_CODE: "…" \}\) .*key is in its challenge\.authenticator/,
  );
  const { secret = "", address = "" } = challenge.authenticator ?? {};
  const host = new URL(world.sandbox.authUrl).hostname;
  assertEquals(address, `otpauth://totp/${host}:ada?secret=${secret}&issuer=${host}`);
  const code = totpIn(address)?.generate({ timestamp: world.clock.provider() });
  assertEquals(code, await world.sandbox.totp(USERNAME));
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
  assert(!asked[1]?.includes("otpauth"), "the second prompt omits the key");
});

Deno.test("a login that is aborted while an answer is being sent changes nothing", async () => {
  await using world = worldOf(BY_MAIL);
  // The aborted login must not add a warning about this wrong clock, either.
  world.clock.jump(7_200);
  const leave = new AbortController();
  const reason = new Error("left");
  let held: Held | undefined;
  const login = world.session.login({
    signal: leave.signal,
    onChallenge: () => {
      held = world.hold();
      held.arrived.then(() => leave.abort(reason));
      return codeByMail(world);
    },
  });
  assertEquals(await rejection(login), reason);
  held?.release();
  // After these turns, a session would have saved the late response.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
  for (const session of [world.session, world.another()]) {
    const { state, warnings } = session.status();
    assertEquals([state, warnings], ["none", []]);
  }
});

Deno.test("an answer is refused while an earlier one is being sent", async () => {
  await using world = worldOf(BY_MAIL);
  const error = await stopped(world);
  const held = world.hold();
  const first = error.respond({ EMAIL_OTP_CODE: "0" });
  await held.arrived;
  const before = world.sandbox.requests.length;
  const second = await rejection(error.respond(codeByMail(world)));
  assertEquals([second.code, world.sandbox.requests.length], ["CHALLENGE_EXPIRED", before]);
  held.release();
  const refused = await rejection(first);
  assertEquals(refused.code, "CODE_REJECTED");
  assertEquals(await outcome((refused as ChallengeError).respond(codeByMail(world))), "valid");
});

Deno.test("login() ends with the error that onChallenge throws", async () => {
  await using world = worldOf(BY_MAIL);
  const reason = new Error("no phone at hand");
  const onChallenge = () => Promise.reject(reason);
  assertEquals(await rejection(world.session.login({ onChallenge })), reason);
  assertEquals(world.sandbox.requests.map(({ operation }) => operation), ["InitiateAuth"]);
});

Deno.test("a login that replaces the password warns that PASSWORD is the old one", async () => {
  const steps = ["EMAIL_OTP", "NEW_PASSWORD_REQUIRED"];
  for (const challenge of [steps, steps.toReversed()]) {
    await using world = worldOf({ ...BY_MAIL, challenge });
    const { warnings } = await world.session.login({
      onChallenge: ({ name }) => name === "EMAIL_OTP" ? codeByMail(world) : { NEW_PASSWORD },
    });
    assertMatch(
      warnings.join(),
      /new password; PASSWORD \(the option password\) is the old one/,
      `${challenge}`,
    );
  }
});
