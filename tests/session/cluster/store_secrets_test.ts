import { assert, assertEquals, assertMatch } from "@std/assert";
import { makeCertificates, NO_OPENSSL } from "../../support/tls_and_proxy.ts";
import { inFolder, MOD_URL, runScript } from "../../support/child_deno.ts";
import { testNeeding } from "../../support/needs.ts";
import { portless, rejection } from "../../support/portless.ts";
import { jwt } from "../../support/answers.ts";
import { clusterTest } from "./in_cluster.ts";
import { listenIn, NO_REDIS, startRedis } from "../../support/redis_server.ts";

clusterTest(
  "neither the traffic of the store nor its database contains a token",
  async ({ server, session, storeKey, world }) => {
    await using wire = listenIn(server.port);
    const overheard = { store: wire.url };
    const [one, other] = [session(overheard), session(overheard)];
    await one.login();
    const tokens = [await one.accessToken()];
    world.clock.advance(3_000);
    await other.refresh();
    tokens.push(await other.accessToken());
    await one.refresh();
    const places = { wire: wire.heard(), database: await server.dump() };
    for (const [place, text] of Object.entries(places)) {
      assert(text.includes("platform-auth:3:{"), `${place} contains the record's key`);
      // Not even a part of a secret may appear, neither plain nor in base64.
      for (const secret of [...tokens, "ACCESS_TOKEN", "REFRESH_TOKEN", storeKey]) {
        for (const part of [secret, btoa(secret)]) {
          assertEquals(text.includes(part.slice(0, 24)), false, `${place} shows a secret`);
        }
      }
    }
    // Without encryption, the recording contains the token, so the recording works.
    const plain = session({ store: wire.url.replace(/0$/, "1"), storeKey: "" });
    await plain.login();
    assert(wire.heard().includes(await plain.accessToken()));
  },
);

testNeeding(
  NO_REDIS ?? NO_OPENSSL,
  "a store over TLS needs a certificate that this machine trusts",
  () =>
    inFolder(async (folder) => {
      const { ca } = await makeCertificates(folder);
      const tls = { "auth-clients": "no", "ca-cert-file": ca };
      const files = { "cert-file": `${folder}/own.pem`, "key-file": `${folder}/own.key` };
      const more = Object.entries({ ...tls, ...files })
        .flatMap(([name, value]) => [`--tls-${name}`, value]);
      await using server = await startRedis(folder, true, more);
      const store = `rediss://localhost:${server.port}`;
      await using world = portless();
      const error = await rejection(world.another({ store }).accessToken());
      assertMatch(error.message, /no trusted TLS connection; .*DENO_TLS_CA_STORE=.*DENO_CERT/);
      const script = `
        import { createSession } from ${JSON.stringify(MOD_URL)};
        const session = createSession({ store: ${JSON.stringify(store)} });
        await session.login({ portalToken: "bearer ${jwt({ exp: 4e9 })}" });
        const other = createSession({ store: ${JSON.stringify(store)} });
        await other.accessToken();
        console.log(other.status().source, other.status().warnings.length);`;
      const flags = [`--allow-net=localhost:${server.port}`, "--allow-env"];
      const told = await runScript(script, { cwd: folder, flags, env: { DENO_CERT: ca } });
      assertEquals([told.stdout, told.stderr], ["store 0\n", ""]);
    }),
);
