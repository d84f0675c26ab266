import { assertEquals, assertMatch } from "@std/assert";
import { createSession, type SessionOptions } from "../../../mod.ts";
import { newStoreKey } from "../../support/store_key.ts";
import { inFolder, neededVariables } from "../../support/child_deno.ts";
import { CLI_PATH } from "../../support/cli_world.ts";
import { testNeeding } from "../../support/needs.ts";
import { portless, rejection } from "../../support/portless.ts";
import { jwt } from "../../support/answers.ts";
import { call } from "./in_cluster.ts";
import { NO_REDIS, startRedis } from "../../support/redis_server.ts";

const CASES: [what: string, options: SessionOptions, message: RegExp, code?: string][] = [
  ["a store address without a scheme", { store: "127.0.0.1:6379" }, /it is not an address such as/],
  [
    "a store key that is too short",
    { store: "redis://127.0.0.1", storeKey: "c2hvcnQ" },
    /it is not 32 bytes in base64; make a key with/,
  ],
  [
    "a store host that is not permitted",
    { store: "rediss://store.example" },
    /: --allow-net=store.example:6379 is missing; add/,
    "PERMISSION",
  ],
];
for (const [what, options, message, code = "INVALID_SETTING"] of CASES) {
  Deno.test(`${what} causes the error ${code} before anything is sent`, async () => {
    await using world = portless();
    const session = world.another(options);
    for (const attempt of [() => session.login(), () => call(session), () => session.logout()]) {
      const error = await rejection(attempt());
      assertEquals(error.code, code, error.message);
      assertMatch(error.message, message);
    }
    assertEquals(world.sent, []);
  });
}

Deno.test("a store in a .env is not used, and status() warns about it", () =>
  inFolder(async (folder) => {
    const envFile = `${folder}/.env`;
    await Deno.writeTextFile(envFile, "AUTH_STORE=redis://127.0.0.1:1\n");
    const session = createSession({ envFile });
    assertEquals((await rejection(session.accessToken())).code, "NO_SESSION");
    assertMatch(session.status().warnings.join(), /AUTH_STORE in the .env is not used/);
  }));

testNeeding(
  NO_REDIS,
  "platform-auth status shows the session in the store",
  () =>
    inFolder(async (folder) => {
      await using server = await startRedis(folder);
      const store = { store: server.url, storeKey: newStoreKey() };
      const env = {
        AUTH_STORE: store.store,
        AUTH_STORE_KEY: store.storeKey,
        AUTH_ENV_FILE: "false",
        ...neededVariables(),
      };
      const status = async () => {
        const args = ["run", "--quiet", "--no-prompt", "--no-lock", "-A", CLI_PATH, "status"];
        const child = new Deno.Command(Deno.execPath(), { args, cwd: folder, clearEnv: true, env });
        const { code, stdout, stderr } = await child.output();
        const [text, errors] = [stdout, stderr].map((each) => new TextDecoder().decode(each));
        return `${code} ${text?.split(/[·\n]/)[0]?.trim()}${errors}`;
      };
      assertEquals(await status(), "3 ○ Not signed in");
      await createSession(store).login({ portalToken: `bearer ${jwt({ sub: "ada", exp: 4e9 })}` });
      assertEquals(await status(), "0 ● Signed in as ada");
      env.AUTH_STORE_KEY = "short";
      assertMatch(
        await status(),
        /^1 platform-auth: Cannot use the key of the store \(AUTH_STORE_KEY\)/,
      );
    }),
);
