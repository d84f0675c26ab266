/** An entry of a store is that of one account: nobody else's login takes its place. */
import { assertEquals, assertMatch } from "@std/assert";
import { createSession, type LoginOptions, type SessionOptions } from "../../../mod.ts";
import { rejection } from "../../support/portless.ts";
import { jwt } from "../../support/answers.ts";
import { type Cluster, clusterTest } from "./in_cluster.ts";

/** A session without a user name in its settings, with the store's address. */
function unnamed({ world, store }: Cluster, hash: string, more: SessionOptions = {}) {
  const { username: _, password: __, ...options } = world.options;
  return createSession({ ...options, ...store, store: `${store.store}${hash}`, ...more });
}

const PASSWORD = "Another-Password-1";
const others: [string, SessionOptions, LoginOptions][] = [
  ["a name that is given", {}, { username: "grace", password: PASSWORD }],
  ["USERNAME and PASSWORD", { username: "grace", password: PASSWORD }, {}],
];
for (const [what, settings, options] of others) {
  clusterTest(`${what} replaces no session of the name behind the #`, async (cluster) => {
    const { world } = cluster;
    world.sandbox.addUser({ username: "grace", password: PASSWORD });
    const { username = "", password = "" } = world.options;
    const own = unnamed(cluster, `#${username}`);
    await own.login({ username, password });
    const hash = options.force || options.username ? `#${username}` : "#somebody";
    const error = await rejection(unnamed(cluster, hash, settings).login(options));
    assertEquals(error.code, "INVALID_SETTING", error.message);
    assertMatch(
      error.message,
      /keeps the session of \w+, and this login is for another account; in AUTH_STORE \(store\), write that account after the # sign, or make a session for it/,
    );
    assertEquals(world.logins(), 1, "nothing was sent");
    const worker = unnamed(cluster, `#${username}`);
    await worker.accessToken();
    assertEquals([worker.status().username, worker.status().canRefresh], [username, true]);
  });
}

clusterTest(
  "a portal string of another account replaces no session in the store",
  async ({ session, world }) => {
    await session().login();
    const one = session();
    const portalToken = `bearer ${jwt({ sub: "ada", exp: 4e9 })}`;
    const error = await rejection(one.login({ portalToken }));
    assertEquals(error.code, "INVALID_SETTING", error.message);
    assertMatch(
      error.message,
      /keeps the session of student, and this login is for another account; in AUTH_STORE \(store\), write that account/,
    );
    assertEquals([one.status().canRefresh, await one.accessToken()], [
      true,
      await session().accessToken(),
    ]);
    // The own one is welcome, and so is any after a logout.
    const own = await world.sandbox.portalToken();
    assertEquals((await one.login({ portalToken: own })).source, "portal");
    await one.logout();
    assertEquals((await one.login({ portalToken })).username, "ada");
  },
);
