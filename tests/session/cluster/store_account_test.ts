/** An entry of a store belongs to one account. */
import { assertEquals, assertMatch } from "@std/assert";
import { createSession, type SessionOptions } from "../../../mod.ts";
import { rejection } from "../../support/portless.ts";
import { jwt } from "../../support/answers.ts";
import { type Cluster, clusterTest } from "./in_cluster.ts";

/** A session whose settings contain no user name. `hash` selects the account in the store. */
function unnamed({ world, store }: Cluster, hash: string, more: SessionOptions = {}) {
  const { username: _, password: __, ...options } = world.options;
  return createSession({ ...options, ...store, store: `${store.store}${hash}`, ...more });
}

const OTHER_ACCOUNT = /keeps the session of \w+, and this login is for another account; /;

clusterTest("login() refuses to replace another user's session in the store", async (cluster) => {
  const { world } = cluster;
  const grace = { username: "grace", password: "Another-Password-1" };
  world.sandbox.addUser(grace);
  const { username = "", password = "" } = world.options;
  await unnamed(cluster, `#${username}`).login({ username, password });
  const errors = await Promise.all([
    rejection(unnamed(cluster, `#${username}`).login(grace)),
    rejection(unnamed(cluster, "#somebody", grace).login()),
  ]);
  for (const error of errors) {
    assertEquals(error.code, "INVALID_SETTING");
    assertMatch(error.message, OTHER_ACCOUNT);
    assertMatch(error.message, /in AUTH_STORE \(store\), write that account after the # sign/);
  }
  assertEquals(world.logins(), 1, "nothing was sent");
  const worker = unnamed(cluster, `#${username}`);
  await worker.accessToken();
  assertEquals([worker.status().username, worker.status().canRefresh], [username, true]);
});

clusterTest(
  "login() refuses a portal string of another account than the store's session",
  async ({ session, world }) => {
    await session().login();
    const one = session();
    const portalToken = `bearer ${jwt({ sub: "ada", exp: 4e9 })}`;
    const error = await rejection(one.login({ portalToken }));
    assertEquals(error.code, "INVALID_SETTING");
    assertMatch(error.message, OTHER_ACCOUNT);
    assertEquals([one.status().canRefresh, await one.accessToken()], [
      true,
      await session().accessToken(),
    ]);
    // A portal string of the same account is accepted. After a logout, so is one of any account.
    const own = await world.sandbox.portalToken();
    assertEquals((await one.login({ portalToken: own })).source, "portal");
    await one.logout();
    assertEquals((await one.login({ portalToken })).username, "ada");
  },
);
