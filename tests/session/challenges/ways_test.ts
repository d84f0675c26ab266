import { assertEquals, assertMatch } from "@std/assert";
import type { Answers, Ask, Challenge } from "../../../mod.ts";
import {
  CHALLENGE_CASES,
  type ChallengeCase,
  NEW_PASSWORD,
  outcome,
  type Turn,
  typedFor,
  USERNAME,
  worldOf,
} from "./cases.ts";

type World = ReturnType<typeof worldOf>;

/** Gives the answers in turn, and checks each challenge. */
function answering({ sandbox }: World, turns: readonly Turn[]) {
  const left = [...turns];
  return {
    left,
    answer: async (challenge: Challenge): Promise<Answers> => {
      const turn = left.shift();
      if (!turn) throw new Error(`${challenge.name} is required once too often`);
      const { name, attempt, asks, refused, authenticator } = challenge;
      assertEquals([name, attempt], [turn.challenge, turn.attempt ?? 1]);
      assertEquals(refused !== undefined, attempt > 1);
      assertEquals(authenticator !== undefined, name === "MFA_SETUP");
      const answers = await turn.answer(sandbox);
      assertEquals(asks.map((ask) => ask.name), Object.keys(answers));
      return answers;
    },
  };
}

/** The line before each prompt for a secret: the host that receives the answer. */
const RECEIVER = "For identity-provider.sandbox.example:\n";

/** Types the answers in turn, and checks each prompt. */
function typing({ sandbox }: World, turns: readonly Turn[]) {
  const left = [...turns];
  let typed: string[] = [];
  const prompt: Ask = async (asked, { secret }) => {
    assertEquals(asked.includes(RECEIVER), secret);
    const message = asked.replace(RECEIVER, "");
    if (typed.length === 0) {
      const turn = left.shift();
      if (!turn) throw new Error(`asked once too often: ${message}`);
      assertMatch(message.replaceAll("\n", " "), turn.says);
      typed = typedFor(await turn.answer(sandbox));
    }
    return typed.shift() ?? null;
  };
  return { left, prompt };
}

const WAYS: Record<string, (world: World, turns: readonly Turn[]) => Promise<unknown>> = {
  "onChallenge": async (world, turns) => {
    const { answer, left } = answering(world, turns);
    const status = await world.session.login({ force: true, onChallenge: answer });
    assertEquals(left, []);
    return status.state;
  },
  "prompts": async (world, turns) => {
    const { prompt, left } = typing(world, turns);
    const { state } = await world.another({ prompt }).login({ force: true });
    assertEquals(left, []);
    return state;
  },
};

for (const [way, login] of Object.entries(WAYS)) {
  for (const each of CHALLENGE_CASES) {
    Deno.test(`login() succeeds after ${each.title} (answers from ${way})`, async () => {
      await using world = worldOf(each.user);
      if (each.earlier) await login(world, each.earlier);
      assertEquals(await login(world, each.turns), "valid");
      const next = world.another();
      assertEquals([next.status().state, next.status().username], ["valid", USERNAME]);
    });
  }
}

Deno.test("a line break that was pasted with a new password does not become part of it", async () => {
  const pasted = `\n${NEW_PASSWORD}\r\n`;
  const ways: ((world: World) => Promise<unknown>)[] = [
    (world) => world.session.login({ onChallenge: () => ({ NEW_PASSWORD: pasted }) }),
    (world) => {
      const answers = [pasted, NEW_PASSWORD];
      return world.another({ prompt: () => answers.shift() ?? null }).login();
    },
  ];
  for (const login of ways) {
    await using world = worldOf({ challenge: "NEW_PASSWORD_REQUIRED", email: "ada@example.org" });
    await login(world);
    assertEquals(await outcome(world.session.login({ password: NEW_PASSWORD })), "valid");
  }
});

Deno.test("login() asks again if two passwords differ or a choice is invalid, and fails without an answer", async () => {
  const stories: [ChallengeCase["user"], (string | null)[], RegExp, string][] = [
    [
      { challenge: "NEW_PASSWORD_REQUIRED", email: "ada@example.org" },
      ["One-Password-1", "Another-Password-1", "Third-Password-1", "Third-Password-1"],
      /^The two passwords differ\.\nNew password of ada:$/m,
      "valid",
    ],
    [
      { challenge: ["SELECT_MFA_TYPE"], email: "ada@example.org" },
      ["9", "software_token_mfa", null],
      /^This is not one of the choices\.\nHow to get a code: 1 SOFTWARE_TOKEN_MFA, 2 EMAIL_OTP$/m,
      "CHALLENGE_REQUIRED",
    ],
  ];
  for (const [user, answers, said, end] of stories) {
    await using world = worldOf(user);
    const asked: string[] = [];
    const prompt: Ask = (message) => {
      asked.push(message.replace(RECEIVER, ""));
      return answers[asked.length - 1] ?? null;
    };
    const login = world.another({ prompt }).login();
    assertEquals(await outcome(login), end);
    assertMatch(asked.join("\n"), said);
    assertEquals(asked.length, answers.length);
  }
});
