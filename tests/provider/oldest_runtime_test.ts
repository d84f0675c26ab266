/** The oldest supported Deno never sends a password twice when connections drop. */
import { assertEquals } from "@std/assert";
import { headerOf, parseRaw, startTcpCapture } from "../support/tcp_capture.ts";
import { inFolder, MOD_PATH } from "../support/child_deno.ts";
import { needing } from "../support/needs.ts";

const OLDEST = /Deno from (\d+\.\d+\.\d+)/.exec(
  Deno.readTextFileSync(new URL("../../README.md", import.meta.url)),
)?.[1] ?? "";

/** The output of a program, if it can be run and succeeds. */
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

/** The runtime's path in npm's cache; nothing is downloaded by a test. */
const oldest = (await printedBy(Deno.build.os === "windows" ? "npx.cmd" : "npx", [
  ...["--yes", "--offline", `deno@${OLDEST}`, "eval", "console.log(Deno.execPath())"],
])).trim();
const reason = `npx --yes deno@${OLDEST} --version was not run here before`;

Deno.test({
  ...needing(
    oldest ? undefined : { reason, installable: false },
    `Deno ${OLDEST} sends a password once when the connection drops`,
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
