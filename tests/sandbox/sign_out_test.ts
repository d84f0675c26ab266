import { assertEquals, assertThrows } from "@std/assert";
import type { Sandbox } from "../../src/sandbox/mod.ts";
import {
  callApi,
  fault,
  logIn,
  portalCookie,
  refreshBody,
  sandboxAt,
  sandboxTest,
  send,
} from "./requests.ts";

const REVOKED = "400 NotAuthorizedException: Refresh Token has been revoked";

async function tryRefresh(sandbox: Sandbox, token: unknown): Promise<string> {
  const answer = await send(sandbox, refreshBody(sandbox, token));
  return answer.status === 200 ? "200" : fault(answer);
}

async function tryApi(sandbox: Sandbox, token?: string | number): Promise<number> {
  return (await callApi(sandbox, "/v1/whoami", token)).status;
}

async function tryPortal(sandbox: Sandbox, cookie: string): Promise<number> {
  return (await sandbox.handle(new Request(sandbox.portalUrl, { headers: { cookie } }))).status;
}

sandboxTest("signOutEverywhere() ends all sessions so far, and no later ones", {
  rotateRefreshTokens: true,
}, async ({ sandbox }) => {
  const first = await logIn(sandbox);
  const second = await logIn(sandbox);
  const rotated = await send(sandbox, refreshBody(sandbox, second.RefreshToken));
  const portalToken = (await sandbox.portalToken()).replace("bearer ", "");
  const cookie = await portalCookie(sandbox);
  sandbox.signOutEverywhere();
  for (const { AccessToken, RefreshToken } of [first, rotated.result]) {
    assertEquals(await tryRefresh(sandbox, RefreshToken), REVOKED);
    assertEquals(await tryApi(sandbox, AccessToken), 401);
  }
  assertEquals(await tryApi(sandbox, portalToken), 401);
  assertEquals(await tryPortal(sandbox, cookie), 303);

  const { AccessToken, RefreshToken } = await logIn(sandbox);
  assertEquals(await tryApi(sandbox, AccessToken), 200);
  assertEquals(await tryRefresh(sandbox, RefreshToken), "200");
  assertEquals(await tryPortal(sandbox, await portalCookie(sandbox)), 200);
});

Deno.test("signOutEverywhere() rejects an unknown name", () => {
  const { sandbox } = sandboxAt();
  assertThrows(() => sandbox.signOutEverywhere("nobody"), TypeError, "addUser()");
});
