import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { repeatedPart } from "../support/canaries.ts";
import { childEnvironment, type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { testNeeding } from "../support/needs.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { type Answer, inTerminal, NO_INTERRUPTS, terminalTest } from "../support/terminal.ts";
import {
  CHALLENGE_CASES,
  type ChallengeCase,
  earlierTurns,
  NEW_PASSWORD,
  type Turn,
  typedFor,
  USERNAME,
} from "../session/challenges/cases.ts";

/** A command line whose `.env` names the user of a case. */
async function inWorld(
  user: ChallengeCase["user"],
  use: (world: CliWorld) => Promise<void>,
): Promise<void> {
  await inCliWorld(async (world) => {
    const password = crypto.randomUUID();
    world.sandbox.addUser({ username: USERNAME, password, ...user });
    const variables = { ...world.variables, USERNAME, PASSWORD: password };
    await writeEnv(world.folder, variables);
    await use({ ...world, variables });
  });
}

/** The text on the screen at a prompt, and the input that is typed then. */
function dialogOf(turn: Turn, { sandbox }: CliWorld): [string, Answer][] {
  // Codes are known only when they are asked for.
  let answers: string[] = [];
  const first: Answer = async () => {
    answers = typedFor(await turn.answer(sandbox));
    return `${answers.shift()}\r`;
  };
  const next: Answer = () => `${answers.shift()}\r`;
  const marks: Record<string, string> = {
    NEW_PASSWORD_REQUIRED: "New password of ada:",
    SELECT_MFA_TYPE: "How to get a code:",
    CUSTOM_CHALLENGE: "What is the name of the platform?",
    MFA_SETUP: "shows for the new key:",
    SOFTWARE_TOKEN_MFA: "authenticator app (Authenticator):",
  };
  const dialog: [string, Answer][] = [[marks[turn.challenge] ?? "Code that was sent", first]];
  if (turn.challenge === "NEW_PASSWORD_REQUIRED") dialog.push(["password again:", next]);
  if (turn.alsoAsks) dialog.push([turn.alsoAsks, next]);
  return dialog;
}

/** Those whose prompts differ; tests/session/challenges answers all of them. */
const TYPED = /^(a new password that the policy|a choice, and|the setup of an app)/;
for (const each of CHALLENGE_CASES.filter(({ title }) => TYPED.test(title))) {
  terminalTest(
    `in a terminal login takes ${each.title}`,
    () =>
      inWorld(each.user, async (world) => {
        for (const asked of [earlierTurns(each), each.turns]) {
          if (asked.length === 0) continue;
          const dialog = asked.flatMap((turn) => dialogOf(turn, world));
          const command = world.commandLine(["login", "--force"]);
          const env = childEnvironment({ NO_COLOR: "1" });
          const seen = await inTerminal(command, dialog, { cwd: world.folder, env });
          assertStringIncludes(seen.screen, `Signed in as ${USERNAME}`);
          assertEquals([seen.left, seen.code, seen.sane], [0, 0, true], seen.screen);
          const secrets = [NEW_PASSWORD, ...world.sandbox.codes.map(({ code }) => code)];
          assertEquals(repeatedPart(seen.screen, secrets), undefined);
          const setsUp = asked.some(({ challenge }) => challenge === "MFA_SETUP");
          assertEquals(/key: +[A-Z2-7]{4} /.test(seen.screen), setsUp);
          assertEquals(seen.screen.match(/otpauth:/g)?.length, setsUp ? 1 : undefined);
        }
        assertMatch(await Deno.readTextFile(world.envFile), /^ACCESS_TOKEN=eyJ/m);
      }),
  );
}

Deno.test("without a terminal a further step is exit status 3, with what to do", () =>
  inWorld({ challenge: "SMS_MFA", phone: "+15555550100" }, async (world) => {
    const { code, stdout, stderr } = await world.run(["login"]);
    assertEquals([code, stdout], [3, ""]);
    assertMatch(
      stderr,
      /SMS_MFA: Code that was sent by SMS to \+\*{7}0100\); run platform-auth login where it can prompt, in a terminal \(help/,
    );
    const json = await world.run(["login", "--json"]);
    assertEquals([json.code, JSON.parse(json.stderr).error.code], [3, "CHALLENGE_REQUIRED"]);
    const password = world.variables.PASSWORD ?? "";
    const piped = await world.run(["login", "--username", USERNAME, "--stdin"], {
      stdin: password,
    });
    assertEquals(piped.code, 3);
    assert(!`${stderr}${json.stderr}${piped.stderr}`.includes(password));
    assert(!(await Deno.readTextFile(world.envFile)).includes("ACCESS_TOKEN"));
  }));

terminalTest(
  "in a terminal, an empty answer to a further step ends the login with a message",
  () =>
    inWorld({ challenge: "SMS_MFA", phone: "+15555550100" }, async (world) => {
      const env = childEnvironment({ NO_COLOR: "1" });
      const dialog: [string, Answer][] = [["Code that was sent", () => Promise.resolve("\r")]];
      const seen = await inTerminal(world.commandLine(["login"]), dialog, {
        cwd: world.folder,
        env,
      });
      assertMatch(seen.screen, /and no answer was given; run platform-auth login again \(help/);
      assertEquals([seen.code, seen.sane], [3, true]);
    }),
);

testNeeding(
  NO_INTERRUPTS,
  "Ctrl-C and Ctrl-D at a further step end the login quietly with 130",
  () =>
    inWorld({ challenge: "SMS_MFA", phone: "+15555550100" }, async (world) => {
      for (const key of ["\x03", "\x04"]) {
        const seen = await inTerminal(
          world.commandLine(["login"]),
          [["Code that was sent", key]],
          { cwd: world.folder, env: childEnvironment() },
        );
        assertEquals([seen.code, seen.signal, seen.sane, seen.left], [130, 0, true, 0]);
        assertEquals(seen.screen.includes("platform-auth:"), false, seen.screen);
        assertEquals([...Deno.readDirSync(world.folder)].map(({ name }) => name), [".env"]);
      }
    }),
);
