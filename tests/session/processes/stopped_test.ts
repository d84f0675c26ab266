import { assertEquals } from "@std/assert";
import { bytesOf, rawAnswer, readRequest, writeAll } from "../../support/raw_http.ts";
import { inFolder, MOD_URL, startScript } from "../../support/child_deno.ts";
import { stop } from "../../support/stop_process.ts";
import { linesOf } from "../../support/portless.ts";
import { jwt } from "../../support/answers.ts";
import { writeEnv } from "../../support/sandbox_env.ts";

/** The deadline of the refresh, and the time for which its process is suspended, in milliseconds. */
const DEADLINE_MS = 5_000;
const STOPPED_MS = 5_500;

const SCRIPT = `
import { createSession } from ${JSON.stringify(MOD_URL)};
// The first refresh loads the code, so that the deadline of the second limits only its request.
await createSession({ envFile: ".env", timeoutMs: 60_000 }).refresh();
const session = createSession({ envFile: ".env", timeoutMs: ${DEADLINE_MS} });
const status = await session.refresh().catch((error) => ({ state: error.code, source: error.message }));
console.log(status.state, status.source);
`;

/** The response of a provider that replaces the refresh token at each refresh. */
function answerWith(refreshToken: string): string {
  const AccessToken = jwt({
    sub: "ada",
    client_id: "client",
    exp: Date.now() / 1_000 + 1_800,
  });
  const result = { AccessToken, RefreshToken: refreshToken, ExpiresIn: 1_800 };
  return rawAnswer(200, JSON.stringify({ AuthenticationResult: result }));
}

Deno.test(
  "a process that was suspended past its deadline still uses a response that has arrived",
  () =>
    inFolder(async (folder) => {
      using provider = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      await writeEnv(folder, {
        AUTH_URL: `http://127.0.0.1:${provider.addr.port}/`,
        APP_CLIENT_ID: "client",
        APP_CLIENT_SECRET: "",
        USER_POOL_ID: "pool",
        ACCESS_TOKEN: jwt({ sub: "ada", client_id: "client", exp: 1 }),
        REFRESH_TOKEN: "the-first-one",
      });
      await Deno.writeTextFile(`${folder}/script.ts`, SCRIPT);
      const child = startScript(folder);
      // If the process ends early, accept() throws.
      const output = child.output().finally(() => provider.close());
      const answer = async (refreshToken: string, meanwhile?: () => Promise<void>) => {
        using connection = await provider.accept();
        await readRequest(bytesOf(connection));
        await meanwhile?.();
        await writeAll(connection, new TextEncoder().encode(answerWith(refreshToken)));
      };
      await answer("the-second-one");
      await answer("the-third-one", () => stop(child, true));
      // Real time: the clock of another process cannot be replaced.
      await new Promise((done) => setTimeout(done, STOPPED_MS));
      await stop(child, false);
      const { stdout } = await output;
      assertEquals(new TextDecoder().decode(stdout), "valid refresh\n");
      assertEquals(linesOf(`${folder}/.env`).REFRESH_TOKEN, "the-third-one");
    }),
);
