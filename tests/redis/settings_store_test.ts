import { assertEquals, assertMatch } from "@std/assert";
import { settingsStore } from "../../src/redis/settings_store.ts";
import type { SessionOptions } from "../../src/settings/options.ts";
import { resolveSettings } from "../../src/settings/settings.ts";
import { patient, redisTest } from "./in_redis.ts";

const ACCOUNT = {
  authUrl: "https://provider.example:8443/",
  clientId: "client:{1}",
  username: "ada",
} satisfies SessionOptions;

const opened = (options: SessionOptions) =>
  settingsStore(resolveSettings({ envFile: false, ...ACCOUNT, ...options }, false));

redisTest("a server keeps a session for each provider, client and account", async (server) => {
  const saved = async (options: SessionOptions, record: string) => {
    const { store } = await opened({ store: server.url, ...options });
    await using lock = await store.lock(patient());
    await lock.write({ ACCESS_TOKEN: record }, patient());
  };
  await saved({}, "ada's");
  await saved({ username: "grace" }, "grace's");
  await saved({ clientId: "other" }, "another client's");
  await saved({ authUrl: "https://other.example" }, "another provider's");
  const { store } = await opened({ store: `${server.url}#ada`, username: "grace" });
  assertEquals(await store.read(patient()), { ACCESS_TOKEN: "ada's" });
  const keys = await server.tell("KEYS *client%*ada*");
  assertMatch(keys, /^platform-auth:3:\{provider\.example%3A8443:client%3A%7B1%7D:ada\}\r$/m);
});
