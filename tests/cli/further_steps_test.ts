/** `platform-auth login` for users whose login has further steps. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { repeatedPart } from "../support/canaries.ts";
import { childEnvironment, inCliWorld } from "../support/cli_world.ts";
import { writeEnv } from "../support/sandbox_env.ts";
import { type Answer, assertEnded, inTerminal, terminalTest } from "../support/terminal.ts";
import { commandTest } from "./own_process.ts";

/** A line of a QR code, white on black. */
// deno-lint-ignore no-control-regex -- terminal colors begin with the control character Esc
const QR_LINE = /^\u001b\[97;40m[█▀▄ ]{30,}\u001b\[0m\r?$/m;

terminalTest(
  "login in a terminal shows the key of a new authenticator app and its QR code, and accepts a code",
  () =>
    inCliWorld(async ({ sandbox, folder, envFile, variables, commandLine }) => {
      const [USERNAME, PASSWORD] = ["ada", crypto.randomUUID()];
      sandbox.addUser({ username: USERNAME, password: PASSWORD, challenge: "MFA_SETUP" });
      await writeEnv(folder, { ...variables, USERNAME, PASSWORD });
      const codes: string[] = [];
      const answer: Answer = async () => {
        codes.push(await sandbox.totp(USERNAME));
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

commandTest(
  "login without a terminal ends with exit status 3 if the provider requires a further step",
  async ({ run, envFile, sandbox, variables }) => {
    const [USERNAME, PASSWORD] = ["ada", crypto.randomUUID()];
    const phone = "+15555550100";
    sandbox.addUser({ username: USERNAME, password: PASSWORD, challenge: "SMS_MFA", phone });
    const { code, stdout, stderr } = await run(["login"], {
      env: { ...variables, USERNAME, PASSWORD },
    });
    assertEquals([code, stdout], [3, ""]);
    assertMatch(
      stderr,
      /SMS_MFA: Code that was sent by SMS to \+\*{7}0100\); run platform-auth login in a terminal and answer its prompt .*explain CHALLENGE_REQUIRED/,
    );
    assert(!stderr.includes(PASSWORD));
    assert(!(await Deno.readTextFile(envFile)).includes("ACCESS_TOKEN"));
  },
);
