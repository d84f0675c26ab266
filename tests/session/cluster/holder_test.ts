import { assertEquals } from "@std/assert";
import { createSession, type SessionOptions } from "../../../mod.ts";
import { newStoreKey } from "../../support/store_key.ts";
import { bytesOf, rawAnswer, readRequest, writeAll } from "../../support/raw_http.ts";
import { inFolder, MOD_URL, neededVariables } from "../../support/child_deno.ts";
import { jwt } from "../../support/answers.ts";
import { stop } from "../../support/stop_process.ts";
import { testNeeding } from "../../support/needs.ts";
import { NO_REDIS, startRedis } from "../../support/redis_server.ts";

const SCRIPT = `
import { createSession } from ${JSON.stringify(MOD_URL)};
const session = createSession(JSON.parse(Deno.args[0]));
await session.refresh();
console.log(await session.accessToken());`;

/** The deadline of the process that holds the lock, in milliseconds: its lock expires soon. */
const DEADLINE_MS = 5_000;

/** Answers the next request to the provider with a token that has this name. */
async function answerNext(
  provider: Deno.Listener,
  name: string,
  seconds?: number,
): Promise<string> {
  using connection = await provider.accept();
  await readRequest(bytesOf(connection));
  return await answer(connection, name, seconds);
}

async function answer(connection: Deno.Conn, name: string, seconds = 1_800): Promise<string> {
  const exp = Date.now() / 1_000 + seconds;
  const AccessToken = jwt({ sub: "ada", client_id: "client", exp, jti: name });
  const result = { AccessToken, RefreshToken: `for-${name}`, ExpiresIn: seconds };
  const text = rawAnswer(200, JSON.stringify({ AuthenticationResult: result }));
  await writeAll(connection, new TextEncoder().encode(text));
  return AccessToken;
}

/** Calls `use` while a process holds the lock and waits for the provider. */
async function whileAsking(
  use: (
    child: Deno.ChildProcess,
    answerIt: () => Promise<string>,
    next: () => Promise<string>,
    session: () => ReturnType<typeof createSession>,
  ) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    await using server = await startRedis(folder);
    using provider = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const options: SessionOptions = {
      store: server.url,
      storeKey: newStoreKey(),
      authUrl: `http://127.0.0.1:${provider.addr.port}/`,
      clientId: "client",
      clientSecret: "",
      userPoolId: "pool",
      username: "ada",
      password: "Pass-word-1",
    };
    const one = createSession(options);
    // This token expires before the lock does.
    await Promise.all([one.login(), answerNext(provider, "login", 1)]);
    await Deno.writeTextFile(`${folder}/refresh.ts`, SCRIPT);
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--no-prompt", "--no-lock", "-A", "refresh.ts"],
        JSON.stringify({ ...options, timeoutMs: DEADLINE_MS }),
      ],
      cwd: folder,
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
      env: { ...neededVariables(), NO_PROXY: "127.0.0.1" },
    }).spawn();
    using connection = await provider.accept();
    await readRequest(bytesOf(connection));
    const next = async () => {
      const [, token] = await Promise.all([one.refresh(), answerNext(provider, "next")]);
      assertEquals(await one.accessToken(), token);
      return token;
    };
    await use(child, () => answer(connection, "late"), next, () => createSession(options));
  });
}

testNeeding(
  NO_REDIS,
  "a refresh takes over the lock of a killed process",
  () =>
    whileAsking(async (child, _, next, session) => {
      child.kill("SIGKILL");
      await Promise.all([child.status, child.stdout.cancel()]);
      const token = await next();
      const other = session();
      await other.login();
      assertEquals(await other.accessToken(), token);
    }),
);

testNeeding(
  NO_REDIS,
  "a process that was suspended while it held the lock does not replace newer tokens",
  () =>
    whileAsking(async (child, answerIt, next, session) => {
      await stop(child, true);
      const token = await next();
      await answerIt();
      await stop(child, false);
      const { stdout } = await child.output();
      assertEquals(new TextDecoder().decode(stdout).trim(), token);
      const other = session();
      await other.login();
      assertEquals(await other.accessToken(), token);
    }),
);
