/** What the oldest supported Deno does to a password when connections drop. */
import { assertEquals } from "@std/assert";
import { headerOf, parseRaw, startTcpCapture } from "../support/tcp_capture.ts";
import { inFolder, MOD_PATH } from "../support/child_deno.ts";
import { needing } from "../support/needs.ts";

const OLDEST = /Deno from (\d+\.\d+\.\d+)/.exec(
  Deno.readTextFileSync(new URL("../../README.md", import.meta.url)),
)?.[1] ?? "";

/** A runtime that is in npm's cache; nothing is downloaded by a test. */
async function runs(version: string, args: string[], cwd?: string): Promise<string | undefined> {
  try {
    const { success, stdout } = await new Deno.Command("npx", {
      args: ["--yes", "--offline", `deno@${version}`, ...args],
      ...(cwd !== undefined && { cwd }),
      env: { NO_COLOR: "1" },
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout) : undefined;
  } catch {
    return undefined;
  }
}

const there = (await runs(OLDEST, ["--version"]))?.startsWith(`deno ${OLDEST} `) === true;
const reason = `npx --yes deno@${OLDEST} --version was not run here before`;

Deno.test({
  ...needing(
    there ? undefined : { reason, installable: false },
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
      const printed = await runs(OLDEST, ["run", "-A", "--no-lock", "login.ts"], cwd);
      assertEquals(printed, `${OLDEST} UNREACHABLE\n`);
      assertEquals(provider.requests.length, 1);
      const sent = parseRaw(provider.requests[0] ?? new Uint8Array());
      assertEquals(headerOf(sent, "content-length"), String(sent.body.length));
      assertEquals(headerOf(sent, "transfer-encoding"), undefined);
    }),
});
