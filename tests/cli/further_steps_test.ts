/** `platform-auth login` for users whose login has further steps. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { NewUser } from "../../src/sandbox/mod.ts";
import { repeatedPart } from "../support/canaries.ts";
import { childEnvironment, type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { testNeeding } from "../support/needs.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import {
  type Answer,
  assertEnded,
  inTerminal,
  NO_INTERRUPTS,
  terminalTest,
} from "../support/terminal.ts";
import { inOwnProcess } from "./own_process.ts";

const PASSWORD = crypto.randomUUID();

/** Runs a test in a folder whose `.env` names a user with this step. */
function inWorld(
  user: Pick<NewUser, "challenge" | "phone">,
  use: (world: CliWorld) => Promise<void>,
  inCommandWorld = inCliWorld,
): Promise<void> {
  return inCommandWorld(async (world) => {
    world.sandbox.addUser({ username: "ada", password: PASSWORD, ...user });
    await writeEnv(world.folder, { ...world.variables, USERNAME: "ada", PASSWORD });
    await use(world);
  });
}

/** A line of a QR code, white on black. */
// deno-lint-ignore no-control-regex -- terminal colors begin with the control character Esc
const QR_LINE = /^\u001b\[97;40m[█▀▄ ]{30,}\u001b\[0m\r?$/m;

terminalTest(
  "login in a terminal shows the key of a new authenticator app and its QR code, and accepts a code",
  () =>
    inWorld({ challenge: "MFA_SETUP" }, async ({ sandbox, folder, envFile, commandLine }) => {
      const codes: string[] = [];
      const answer: Answer = async () => {
        codes.push(await sandbox.totp("ada"));
        return `${codes}\r`;
      };
      const seen = await inTerminal(commandLine(["login"]), [["for the new key:", answer]], {
        cwd: folder,
        env: childEnvironment({ NO_COLOR: "1" }),
      });
      assertStringIncludes(seen.screen, "Signed in as ada");
      assertEnded(seen);
      assertEquals(repeatedPart(seen.screen, codes), undefined);
      assertMatch(seen.screen, /key: +[A-Z2-7]{4} /);
      assertEquals(seen.screen.match(/otpauth:/g)?.length, 1);
      assertMatch(seen.screen, QR_LINE);
      assertMatch(await Deno.readTextFile(envFile), /^ACCESS_TOKEN=eyJ/m);
    }),
);

testNeeding(
  NO_INTERRUPTS,
  "login in a narrow terminal shows the key without its QR code",
  () =>
    inWorld({ challenge: "MFA_SETUP" }, async ({ folder, commandLine }) => {
      const seen = await inTerminal(commandLine(["login"]), [["for the new key:", "\x03"]], {
        cwd: folder,
        env: childEnvironment(),
        columns: 40,
      });
      assertEnded(seen, 130);
      assertMatch(seen.screen, /key: +[A-Z2-7]{4} /);
      assertEquals(seen.screen.includes("█"), false);
    }),
);

Deno.test("login without a terminal ends with exit status 3 if the provider requires a further step", () =>
  inWorld({ challenge: "SMS_MFA", phone: "+15555550100" }, async ({ run, envFile }) => {
    const { code, stdout, stderr } = await run(["login"]);
    assertEquals([code, stdout], [3, ""]);
    assertMatch(
      stderr,
      /SMS_MFA: Code that was sent by SMS to \+\*{7}0100\); run platform-auth login in a terminal and answer its prompt/,
    );
    const json = await run(["login", "--json"]);
    assertEquals([json.code, JSON.parse(json.stderr).error.code], [3, "CHALLENGE_REQUIRED"]);
    assert(!`${stderr}${json.stderr}`.includes(PASSWORD));
    assert(!(await Deno.readTextFile(envFile)).includes("ACCESS_TOKEN"));
  }, inOwnProcess));
