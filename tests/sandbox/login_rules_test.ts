import { assertEquals } from "@std/assert";
import type { Sandbox } from "../../src/sandbox/mod.ts";
import { logIn, loginBody, outcome, refreshBody, sandboxTest, send } from "./requests.ts";

const WRONG = "400 NotAuthorizedException: Incorrect username or password.";
const LOCKED = "400 NotAuthorizedException: Password attempts exceeded";

async function attempt(sandbox: Sandbox, password: string): Promise<string> {
  return outcome(await send(sandbox, loginBody(sandbox, { PASSWORD: password })));
}

sandboxTest(
  "lockoutAfter locks an account twice as long after each further failure",
  { lockoutAfter: 2 },
  async ({ sandbox, clock }) => {
    const right = sandbox.settings.password;
    assertEquals(await attempt(sandbox, "no"), WRONG);
    assertEquals(await attempt(sandbox, "no"), WRONG);
    for (const seconds of [1, 2, 4]) {
      clock.advance(seconds - 0.001);
      assertEquals(await attempt(sandbox, right), LOCKED);
      clock.advance(0.001);
      assertEquals(await attempt(sandbox, "no"), WRONG);
    }
    clock.advance(8);
    assertEquals(await attempt(sandbox, right), "200");
  },
);

sandboxTest("throttlePerSecond limits the number of requests within one second", {
  throttlePerSecond: 2,
}, async ({ sandbox, clock }) => {
  const { RefreshToken } = await logIn(sandbox);
  const refresh = async () => outcome(await send(sandbox, refreshBody(sandbox, RefreshToken)));
  clock.advance(0.6);
  assertEquals(await refresh(), "200");
  assertEquals(await refresh(), "400 TooManyRequestsException: Rate exceeded");
  clock.advance(0.4);
  assertEquals(await refresh(), "200");
});
