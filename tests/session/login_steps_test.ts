import { assertEquals, assertMatch } from "@std/assert";
import { ChallengeError } from "../../mod.ts";
import { linesOf, rejection } from "../support/portless.ts";
import { BY_MAIL, NEW_PASSWORD, outcome, worldOf } from "./challenges/cases.ts";

type World = ReturnType<typeof worldOf>;

/** The error of a login that stops at its first step. */
async function stopped(world: World): Promise<ChallengeError> {
  const error = await rejection(world.session.login({ strategy: "environment" }));
  if (!(error instanceof ChallengeError)) throw error;
  return error;
}

const right = ({ sandbox }: World) => ({ EMAIL_OTP_CODE: sandbox.codes.at(-1)?.code ?? "" });

/** Whether the `.env` holds tokens. */
function isKept({ envFile }: World): boolean {
  try {
    return "ACCESS_TOKEN" in linesOf(envFile);
  } catch {
    return false;
  }
}

const HOUR = 3_600;

Deno.test("a login that is aborted while its answer is on its way leaves nothing behind", async () => {
  await using world = worldOf(BY_MAIL);
  world.clock.jump(2 * HOUR);
  const leave = new AbortController();
  const reason = new Error("left");
  let held: ReturnType<World["hold"]> | undefined;
  const login = world.session.login({
    signal: leave.signal,
    onChallenge: () => {
      held = world.hold();
      held.arrived.then(() => leave.abort(reason));
      return right(world);
    },
  });
  assertEquals(await rejection(login), reason);
  held?.release();
  // The late response has arrived by then.
  await new Promise((resolve) => setTimeout(resolve));
  const { state, warnings } = world.session.status();
  assertEquals([state, warnings, isKept(world)], ["none", [], false]);
});

Deno.test("a second answer is refused until the first one has its response", async () => {
  await using world = worldOf(BY_MAIL);
  const error = await stopped(world);
  const held = world.hold();
  const first = error.respond({ EMAIL_OTP_CODE: "0" });
  await held.arrived;
  const before = world.sandbox.requests.length;
  const second = await rejection(error.respond(right(world)));
  assertEquals([second.code, world.sandbox.requests.length], ["CHALLENGE_EXPIRED", before]);
  held.release();
  const refused = await rejection(first);
  assertEquals(refused.code, "CODE_REJECTED");
  assertEquals(await outcome((refused as ChallengeError).respond(right(world))), "valid");
});

Deno.test("an error thrown by onChallenge ends the login unchanged, and nothing more is sent", async () => {
  await using world = worldOf(BY_MAIL);
  const reason = new Error("no phone at hand");
  const onChallenge = () => Promise.reject(reason);
  assertEquals(await rejection(world.session.login({ onChallenge })), reason);
  assertEquals(world.sandbox.requests.map(({ operation }) => operation), ["InitiateAuth"]);
});

Deno.test("a password that is replaced at any step is reported as old", async () => {
  for (
    const challenge of [["EMAIL_OTP", "NEW_PASSWORD_REQUIRED"], [
      "NEW_PASSWORD_REQUIRED",
      "EMAIL_OTP",
    ]]
  ) {
    await using world = worldOf({ ...BY_MAIL, challenge });
    const { warnings } = await world.session.login({
      onChallenge: ({ name }) => name === "EMAIL_OTP" ? right(world) : { NEW_PASSWORD },
    });
    assertMatch(
      warnings.join(),
      /new password; PASSWORD \(the option password\) is the old one/,
      `${challenge}`,
    );
  }
});
