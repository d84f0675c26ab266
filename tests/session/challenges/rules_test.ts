import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Answers, Ask, Challenge, ChallengeError } from "../../../mod.ts";
import { totpIn } from "../../../src/sandbox/identity_provider/challenges/authenticators.ts";
import { BY_MAIL, codeByMail, NEW_PASSWORD, outcome, USERNAME, worldOf } from "./cases.ts";
import { portless, rejection } from "../../support/portless.ts";

Deno.test("an answer that does not fit its challenge causes a TypeError and is not sent", async () => {
  const cases: [challenge: string, answers: unknown, message: RegExp][] = [
    ["EMAIL_OTP", "123456", /an object with exactly these strings: EMAIL_OTP_CODE$/],
    ["EMAIL_OTP", { EMAIL_OTP_CODE: " " }, /exactly these strings: EMAIL_OTP_CODE$/],
    ["SELECT_MFA_TYPE", { ANSWER: "PIGEON" }, /\(one of SOFTWARE_TOKEN_MFA, EMAIL_OTP\)/],
  ];
  for (const [challenge, answers, message] of cases) {
    await using world = worldOf({ ...BY_MAIL, challenge });
    const error = await rejection(world.session.login({ onChallenge: () => answers as Answers }));
    assertEquals(error.name, "TypeError");
    assertMatch(error.message, message);
    assertEquals(world.sent.length, 1);
  }
});

Deno.test("the third rejected answer ends the login", async () => {
  await using world = worldOf(BY_MAIL);
  const attempts: number[] = [];
  const onChallenge = ({ attempt }: Challenge) => {
    attempts.push(attempt);
    return { EMAIL_OTP_CODE: "0" };
  };
  const error = await rejection(world.session.login({ onChallenge }));
  assertEquals([error.code, attempts], ["CODE_REJECTED", [1, 2, 3]]);
  assertMatch(error.message, /for the third time in a row; run login/);
});

Deno.test("a user has three minutes for an answer; then another login is necessary", async () => {
  await using world = worldOf(BY_MAIL);
  for (const [seconds, end] of [[181, "CHALLENGE_EXPIRED"], [170, "valid"]] as const) {
    const onChallenge = () => {
      world.clock.advance(seconds);
      return codeByMail(world);
    };
    assertEquals(await outcome(world.session.login({ onChallenge })), end);
  }
});

Deno.test("a logout or another login during a further step cancels the waiting login", async () => {
  await using world = worldOf(BY_MAIL);
  for (const later of ["logout", "login"] as const) {
    let before = "";
    await outcome(world.session.login({
      force: true,
      onChallenge: async () => {
        if (later === "logout") await world.session.logout();
        else await world.session.login({ portalToken: await world.sandbox.portalToken() });
        before = world.session.status().source;
        return codeByMail(world);
      },
    }));
    assertEquals(world.session.status().source, before, later);
    assertEquals(before, later === "logout" ? "none" : "portal");
  }
});

Deno.test("an answer is sent again after a 503, but not after a lost response", async () => {
  const faults = [[{ status: 503 }, "valid", 3], [{ drop: "during" }, "UNREACHABLE", 2]] as const;
  for (const [fault, state, sent] of faults) {
    await using world = worldOf(BY_MAIL);
    const onChallenge = () => {
      world.sandbox.failures.push({ at: "token", times: 1, ...fault });
      return codeByMail(world);
    };
    const login = world.session.login({ onChallenge });
    assertEquals([await outcome(login), world.sent.length], [state, sent]);
  }
});

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
  const challenge = ["CUSTOM_CHALLENGE", "CUSTOM_CHALLENGE"];
  await using world = portless({ sandbox: { aliasSignIn: true, challenge } });
  const onChallenge = () => ({ ANSWER: "weather data platform" });
  assertEquals(await outcome(world.session.login({ onChallenge })), "valid");
});

Deno.test("a challenge that nobody can answer ends the login and says what to do", async () => {
  for (const challenge of ["WEB_AUTHN", "SOMETHING_NEW"]) {
    await using world = worldOf({ challenge });
    const login = world.session.login({ onChallenge: () => ({}) });
    const { code, fix } = await rejection(login) as ChallengeError;
    assertEquals([code, world.sent.length], ["CHALLENGE_REQUIRED", 1]);
    assertMatch(fix, /^ask the support channel .* login\(\{ strategy: "portal" \}\)$/);
  }
});

Deno.test("the key for an authenticator app is shown only once, and login() ends with the error of onChallenge", async () => {
  await using world = worldOf({ challenge: "MFA_SETUP" });
  let challenge: Challenge | undefined;
  const reason = new Error("no app at hand");
  const onChallenge = (found: Challenge) => {
    challenge = found;
    throw reason;
  };
  assertEquals(await rejection(world.session.login({ onChallenge })), reason);
  const { secret = "", address = "" } = challenge?.authenticator ?? {};
  const host = new URL(world.sandbox.authUrl).hostname;
  assertEquals(address, `otpauth://totp/${host}:ada?secret=${secret}&issuer=${host}`);
  const code = totpIn(address)?.generate({ timestamp: world.clock.provider() });
  assertEquals(code, await world.sandbox.totp(USERNAME));
  const shown = Deno.inspect(challenge, { depth: 9, showHidden: true, getters: true });
  assert(!`${JSON.stringify(challenge)} ${shown} ${challenge?.authenticator}`.includes(secret));
  const asked: string[] = [];
  const prompt: Ask = (message) => {
    asked.push(message);
    return asked.length === 1 ? "0" : null;
  };
  assertEquals(await outcome(world.another({ prompt }).login()), "CODE_REJECTED");
  assertMatch(asked[0] ?? "", /key: +([A-Z2-7]{4} )+.*\n +address: otpauth:\/\/totp\//);
  assert(!asked[1]?.includes("otpauth"), "the second prompt omits the key");
});

Deno.test("a login that is aborted while an answer is being sent changes nothing", async () => {
  await using world = worldOf(BY_MAIL);
  const leave = new AbortController();
  const reason = new Error("left");
  const login = world.session.login({
    signal: leave.signal,
    onChallenge: () => {
      world.hold().arrived.then(() => leave.abort(reason));
      return codeByMail(world);
    },
  });
  assertEquals(await rejection(login), reason);
  for (const session of [world.session, world.another()]) {
    assertEquals(session.status().state, "none");
  }
});

Deno.test("if nobody can answer MFA_SETUP, login() requests no key and recommends onChallenge", async () => {
  await using world = worldOf({ challenge: "MFA_SETUP" });
  const login = world.session.login({ strategy: "environment" });
  const { challenge, fix } = await rejection(login) as ChallengeError;
  assertEquals(challenge.asks.map(({ name }) => name), ["SOFTWARE_TOKEN_MFA_CODE"]);
  assertMatch(fix, /onChallenge/);
  assertEquals(world.sent.length, 1);
});

Deno.test("a login that replaces the password warns that PASSWORD still has the old one", async () => {
  await using world = worldOf({ ...BY_MAIL, challenge: ["NEW_PASSWORD_REQUIRED", "EMAIL_OTP"] });
  const { warnings } = await world.session.login({
    onChallenge: ({ name }) => name === "EMAIL_OTP" ? codeByMail(world) : { NEW_PASSWORD },
  });
  assertMatch(warnings.join(), /new password; PASSWORD \(the option password\) is the old one/);
});
