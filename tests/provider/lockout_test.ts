import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Portless, portless, rejection } from "../support/portless.ts";

/** Adds a user that no other test has, because rejected passwords are counted per process. */
function withUser(lockoutAfter?: number): { world: Portless; name: string; password: string } {
  const world = portless(lockoutAfter === undefined ? {} : { sandbox: { lockoutAfter } });
  const name = `user-${crypto.randomUUID()}`;
  const password = "The-Right-Password-1";
  world.sandbox.addUser({ username: name, password });
  return { world, name, password };
}

const wrong = (username: string) => ({ username, password: `Wrong-${crypto.randomUUID()}` });

Deno.test("the error of login() counts the passwords that were rejected in a row", async () => {
  const { world, name, password } = withUser();
  await using _ = world;
  const messages: string[] = [];
  for (let time = 1; time <= 7; time++) {
    const error = await rejection(world.session.login(wrong(name)));
    assertEquals([error.code, world.logins()], ["INVALID_CREDENTIALS", time]);
    messages.push(error.message);
  }
  assert(!messages[0]?.includes("in a row"), messages[0]);
  assertMatch(messages[1] ?? "", /2 passwords in a row were rejected .*; after about 5 .* locks/);
  assertMatch(messages[6] ?? "", /7 passwords in a row/);
  assertEquals((await world.session.login({ username: name, password })).state, "valid");
  const error = await rejection(world.session.login(wrong(name)));
  assert(!error.message.includes("in a row"), "the right password ends the row");
});

Deno.test("login() reports a locked account and does not wait for the lock to end", async () => {
  const { world, name, password } = withUser(5);
  await using _ = world;
  for (let time = 0; time < 5; time++) await rejection(world.session.login(wrong(name)));
  const locked = await rejection(world.session.login({ username: name, password }));
  assertEquals(locked.code, "LOCKED_OUT");
  assertMatch(locked.message, /5 passwords in a row .* locks/);
  assertEquals([world.logins(), world.pauses.length], [6, 0]);
  world.clock.advance(2);
  assertEquals((await world.session.login({ username: name, password })).state, "valid");
});

Deno.test("login() counts only consecutive wrong passwords of the same user", async () => {
  const { world, name } = withUser();
  await using _ = world;
  const isCounted = async (user: string, session = world.session) =>
    (await rejection(session.login(wrong(user)))).message.includes("2 passwords in a row");
  assertEquals(await isCounted(name), false);
  assertEquals(await isCounted(`another-${name}`), false);
  assertEquals(await isCounted(name), false, "the other user started the count again");
  const others = [
    ["ForbiddenException", "Request not allowed due to WAF block."],
    ["NotAuthorizedException", "User is disabled."],
  ];
  for (const [__type, message] of others) {
    const body = JSON.stringify({ __type, message });
    world.sandbox.failures.push({ at: "token", status: 400, body, times: 1 });
    assertEquals(await isCounted(name), false, message);
  }
  assertEquals(await isCounted(name, world.another()), true, "in all sessions of the process");
});

Deno.test("login() restarts its count of wrong passwords after fifteen minutes", async () => {
  const { world, name } = withUser();
  await using _ = world;
  const messages: string[] = [];
  for (const minutes of [0, 14, 15]) {
    world.clock.advance(minutes * 60);
    messages.push((await rejection(world.session.login(wrong(name)))).message);
  }
  assertEquals(messages.map((text) => text.includes("in a row")), [false, true, false]);
});
