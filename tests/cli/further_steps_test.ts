/** `platform-auth login` for users whose login has further steps. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { repeatedPart } from "../support/canaries.ts";
import { childEnvironment, type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { type Answer, assertEnded, inTerminal, terminalTest } from "../support/terminal.ts";
import {
  CHALLENGE_CASES,
  type ChallengeCase,
  NEW_PASSWORD,
  type Turn,
  typedFor,
  USERNAME,
} from "../session/challenges/cases.ts";

/** Runs a test in a folder whose `.env` names the user of the given login case. */
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
  // The sandbox creates a code only when the step begins.
  let answers: string[] = [];
  const first: Answer = async () => {
    answers = typedFor(await turn.answer(sandbox));
    return `${answers.shift()}\r`;
  };
  const next: Answer = () => `${answers.shift()}\r`;
  if (turn.challenge === "MFA_SETUP") return [["shows for the new key:", first]];
  const dialog: [string, Answer][] = [["New password of ada:", first], [
    "Repeat the new password:",
    next,
  ]];
  if (turn.alsoAsks) dialog.push([turn.alsoAsks, next]);
  return dialog;
}

/** A line of a QR code, white on black. */
// deno-lint-ignore no-control-regex -- terminal colors begin with the control character Esc
const QR_LINE = /^\u001b\[97;40m[█▀▄ ]{30,}\u001b\[0m\r?$/m;

// The cases with special prompts: a repeated password, and the code of a new app.
const TYPED = CHALLENGE_CASES.filter(({ typedIn }) => typedIn?.includes("terminal"));
for (const { title, user, turns } of TYPED) {
  terminalTest(`login in a terminal accepts ${title}`, () =>
    inWorld(user, async (world) => {
      const seen = await inTerminal(
        world.commandLine(["login", "--force"]),
        turns.flatMap((turn) => dialogOf(turn, world)),
        { cwd: world.folder, env: childEnvironment({ NO_COLOR: "1" }) },
      );
      assertStringIncludes(seen.screen, `Signed in as ${USERNAME}`);
      assertEnded(seen);
      const secrets = [NEW_PASSWORD, ...world.sandbox.codes.map(({ code }) => code)];
      assertEquals(repeatedPart(seen.screen, secrets), undefined);
      const setsUp = turns.some(({ challenge }) => challenge === "MFA_SETUP");
      assertEquals(/key: +[A-Z2-7]{4} /.test(seen.screen), setsUp);
      assertEquals(seen.screen.match(/otpauth:/g)?.length, setsUp ? 1 : undefined);
      assertEquals(QR_LINE.test(seen.screen), setsUp);
      assertMatch(await Deno.readTextFile(world.envFile), /^ACCESS_TOKEN=eyJ/m);
    }));
}

terminalTest(
  "login in a narrow terminal shows the key without its QR code",
  () =>
    inWorld({ challenge: "MFA_SETUP" }, async (world) => {
      const seen = await inTerminal(world.commandLine(["login"]), [["for the new key:", "\x03"]], {
        cwd: world.folder,
        env: childEnvironment(),
        columns: 40,
      });
      assertMatch(seen.screen, /key: +[A-Z2-7]{4} /);
      assertEquals(seen.screen.includes("█"), false);
    }),
);

Deno.test("login without a terminal ends with exit status 3 if the provider requires a further step", () =>
  inWorld({ challenge: "SMS_MFA", phone: "+15555550100" }, async (world) => {
    const { code, stdout, stderr } = await world.run(["login"]);
    assertEquals([code, stdout], [3, ""]);
    assertMatch(
      stderr,
      /SMS_MFA: Code that was sent by SMS to \+\*{7}0100\); run platform-auth login in a terminal and answer its prompt/,
    );
    const json = await world.run(["login", "--json"]);
    assertEquals([json.code, JSON.parse(json.stderr).error.code], [3, "CHALLENGE_REQUIRED"]);
    assert(!`${stderr}${json.stderr}`.includes(world.variables.PASSWORD ?? ""));
    assert(!(await Deno.readTextFile(world.envFile)).includes("ACCESS_TOKEN"));
  }));
