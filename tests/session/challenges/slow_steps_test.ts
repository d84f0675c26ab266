import { assertEquals } from "@std/assert";
import type { Ask } from "../../../mod.ts";
import { tokenAnswer } from "../../support/answers.ts";
import { stopped } from "./cases.ts";
import { type Portless, portless, type PortlessOptions } from "../../support/portless.ts";

/** A provider that takes `secondsEach` for a response; each login requires `steps` further steps. */
function slow(secondsEach: number, options: PortlessOptions, steps: number): Portless {
  const world: Portless = portless({
    ...options,
    provider: (_, count) => {
      world.clock.advance(secondsEach);
      return count % (steps + 1) === 0 ? tokenAnswer() : Response.json({
        ChallengeName: "CUSTOM_CHALLENGE",
        ChallengeParameters: { question: `${count}` },
        Session: `session-${count}`,
      });
    },
  });
  return world;
}

const onChallenge = () => ({ ANSWER: "an answer" });

Deno.test("each request of a login has its own time limit, which excludes the user's time to answer", async () => {
  const slowly = (answer: () => unknown) => () => {
    world.clock.advance(120);
    return answer();
  };
  const prompt = slowly(() => "an answer") as Ask;
  await using world: Portless = slow(29, { session: { timeoutMs: 30_000, prompt } }, 6);
  assertEquals((await world.session.login()).state, "valid");
  const another = world.another();
  const byProgram = { onChallenge: slowly(onChallenge) as typeof onChallenge, force: true };
  assertEquals((await another.login(byProgram)).state, "valid");
  assertEquals(world.sent.length, 14);
});

Deno.test("login() reads a challenge with names such as constructor and with values that are not text", async () => {
  const odd = {
    userAttributes: { toString: 1, email: "ada@example.org" },
    requiredAttributes: '["userAttributes.email","userAttributes.constructor","toString"]',
    constructor: { toString: null },
  };
  const answer = { ChallengeName: "NEW_PASSWORD_REQUIRED", ChallengeParameters: odd, Session: "s" };
  await using world = portless({ provider: () => Response.json(answer) });
  const { challenge } = await stopped(world);
  assertEquals(challenge.asks.map(({ name }) => name), [
    "NEW_PASSWORD",
    "userAttributes.constructor",
  ]);
});
