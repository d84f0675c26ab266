/** The oldest supported Deno never sends a password twice when connections drop. */
import { assertEquals } from "@std/assert";
import { headerOf, parseRaw, startTcpCapture } from "../support/tcp_capture.ts";
import { inFolder, MOD_PATH } from "../support/child_deno.ts";
import { needing } from "../support/needs.ts";

const OLDEST = /Deno from (\d+\.\d+\.\d+)/.exec(
  Deno.readTextFileSync(new URL("../../README.md", import.meta.url)),
)?.[1] ?? "";

/** Returns the output of a program, or nothing if it cannot be run or fails. */
async function printedBy(program: string, args: string[], cwd?: string): Promise<string> {
  const options = { args, env: { NO_COLOR: "1" }, stderr: "null", ...(cwd && { cwd }) } as const;
  try {
    const { success, stdout } = await new Deno.Command(program, options).output();
    return success ? new TextDecoder().decode(stdout) : "";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** The path of the oldest runtime in npm's cache. The test downloads nothing. */
const oldest = (await printedBy(Deno.build.os === "windows" ? "npx.cmd" : "npx", [
  ...["--yes", "--offline", `deno@${OLDEST}`, "eval", "console.log(Deno.execPath())"],
])).trim();
const reason = `npx --yes deno@${OLDEST} --version was not run here before`;

Deno.test({
  ...needing(
    oldest ? undefined : { reason, installable: false },
    `login() sends the password only once on Deno ${OLDEST} when the connection drops`,
  ),
  fn: () =>
    inFolder(async (cwd) => {
      await using provider = startTcpCapture([]);
      await Deno.writeTextFile(
        `${cwd}/login.ts`,
        `import { createSession } from ${JSON.stringify(MOD_PATH)};
        const session = createSession({
          authUrl: ${JSON.stringify(provider.url)},
          clientId: "example-client",
          clientSecret: "",
          userPoolId: "example_Pool",
          username: "ada",
          password: "example-password",
        });
        console.log(Deno.version.deno, await session.login().catch(({ code }) => code));`,
      );
      const printed = await printedBy(oldest, ["run", "-A", "--no-lock", "login.ts"], cwd);
      assertEquals(printed, `${OLDEST} UNREACHABLE\n`);
      assertEquals(provider.requests.length, 1);
      const sent = parseRaw(provider.requests[0] ?? new Uint8Array());
      assertEquals(headerOf(sent, "content-length"), String(sent.body.length));
      assertEquals(headerOf(sent, "transfer-encoding"), undefined);
    }),
});
