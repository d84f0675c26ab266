import { assertEquals } from "@std/assert";
import { portless, rejection } from "../support/portless.ts";

Deno.test("login() reports a locked account and does not wait for the lock to end", async () => {
  await using world = portless({ sandbox: { lockoutAfter: 5 } });
  const user = { username: "grace", password: "The-Right-Password-1" };
  world.sandbox.addUser(user);
  for (let time = 1; time <= 5; time++) {
    const error = await rejection(world.session.login({ ...user, password: "Wrong-Password-1" }));
    assertEquals([error.code, world.logins()], ["INVALID_CREDENTIALS", time]);
  }
  assertEquals((await rejection(world.session.login(user))).code, "LOCKED_OUT");
  assertEquals([world.logins(), world.pauses.length], [6, 0]);
  world.clock.advance(2);
  assertEquals((await world.session.login(user)).state, "valid");
});
