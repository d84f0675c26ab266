/**
 * The command line in a Windows console. `deno task windows` runs Deno for Windows on Linux under
 * Wine; this file types from Linux, and `files_test.ts` runs inside Wine.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { isFile, lackOf, testNeeding } from "../../support/needs.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import { inTerminal, type Seen } from "../../support/terminal.ts";
import { windowsCommand, windowsRoot } from "../../support/windows_command.ts";

const { root, cli } = windowsRoot();

const lack = isFile(`${root}/deno/deno.exe`)
  ? await lackOf("python3", "-c", "import pty")
  : { reason: "only on Linux, with Wine: deno task windows", installable: false };

interface Desk {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly password: string;
  login(...dialog: [awaited: string, answer: string][]): Promise<Seen>;
}

/** Registers a test of the command line in a Windows console, without user name and password. */
function consoleTest(name: string, use: (desk: Desk) => Promise<void>): void {
  testNeeding(lack, name, async () => {
    await using sandbox = await startSandbox();
    const password = crypto.randomUUID();
    sandbox.addUser({ username: "ada", password });
    const folder = await Deno.makeTempDir({ dir: `${root}/tmp`, prefix: "console-" });
    try {
      const { USERNAME: _, PASSWORD: __, ...others } = variablesOf(sandbox.settings);
      await writeEnv(folder, others);
      const command = ["run", "--quiet", "--no-lock", "-A", cli, "login", "--username", "ada"];
      const login: Desk["login"] = (...dialog) =>
        inTerminal([...LISTENING, ...windowsCommand(command, folder.slice(root.length))], dialog, {
          cwd: folder,
          env: {},
        });
      await use({ sandbox, folder, password, login });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

/** Unless the terminal is raw, Wine loses input that arrives before the program first reads. */
const LISTENING = ["sh", "-c", 'stty raw -echo; "$0" "$@"'];

const ASKED = "(host set in .env):";

consoleTest("login masks a password that is typed into a Windows console", async (desk) => {
  const seen = await desk.login([ASKED, `x\x7f${desk.password}\r`]);
  assertStringIncludes(seen.screen, "Signed in as ada");
  assertEquals(repeatedPart(seen.screen, [desk.password]), undefined);
  assertMatch(await Deno.readTextFile(`${desk.folder}/.env`), /^ACCESS_TOKEN=eyJ/m);
});

consoleTest(
  "Ctrl-C in a Windows console cancels the prompt before anything is sent",
  async (desk) => {
    const seen = await desk.login([ASKED, "x\x03"]);
    assertEquals([seen.left, desk.sandbox.requests.length], [0, 0]);
    assertEquals(seen.screen.includes("Signed in"), false);
    assertEquals([...Deno.readDirSync(desk.folder)].map(({ name }) => name), [".env"]);
  },
);

consoleTest(
  "login rejects a password in an encoding other than UTF-8",
  async (desk) => {
    const seen = await desk.login([ASKED, "grün\r"]);
    assertMatch(seen.screen.replace(/\s+/g, " "), /does not send UTF-8.*chcp 65001/);
    assertEquals(desk.sandbox.requests.length, 0);
  },
);
