/** The page that replaces a user's authenticator app. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import { enter, operate, portalCookie, respond, SAME_SITE, sandboxTest } from "../requests.ts";

/** Opens the page, or sends its form with this secret. */
async function authenticator(sandbox: Sandbox, cookie: string, secret?: string) {
  const headers = { cookie, ...SAME_SITE };
  const init = secret === undefined
    ? {}
    : { method: "POST", body: new URLSearchParams({ secret }) };
  const url = `${sandbox.portalUrl}/authenticator`;
  const response = await sandbox.handle(new Request(url, { ...init, headers }));
  return {
    status: response.status,
    refresh: response.headers.get("refresh"),
    text: await response.text(),
  };
}

sandboxTest("the authenticator page shows the code that a login accepts", {
  challenge: "SOFTWARE_TOKEN_MFA",
}, async ({ sandbox, clock }) => {
  const cookie = await portalCookie(sandbox);
  clock.advance(13);
  const { text, refresh } = await authenticator(sandbox, cookie);
  const code = /id="code">(\d{6})</.exec(text)?.[1] ?? "";
  assertEquals(refresh, "17");
  const response = await respond(sandbox, await enter(sandbox), { SOFTWARE_TOKEN_MFA_CODE: code });
  assertEquals(response.status, 200);
  clock.advance(17);
  assert(!(await authenticator(sandbox, cookie)).text.includes(code));
});

sandboxTest("the authenticator page accepts a secret or an otpauth:// link", {
  challenge: "MFA_SETUP",
}, async ({ sandbox }) => {
  const cookie = await portalCookie(sandbox);
  assertMatch((await authenticator(sandbox, cookie)).text, /No code yet/);
  const { Session } = (await enter(sandbox)).body;
  const { body } = await operate(sandbox, "AssociateSoftwareToken", { Session });
  const secret = String(body.SecretCode);
  const address = `otpauth://totp/platform:student?secret=${secret}&issuer=platform`;
  for (const wrong of [await sandbox.totp(), "password", address.replace("totp", "hotp")]) {
    assertEquals((await authenticator(sandbox, cookie, wrong)).status, 422);
  }
  for (const valid of [` ${secret.toLowerCase()} `, address]) {
    assertEquals((await authenticator(sandbox, cookie, valid)).status, 303);
    const { text } = await authenticator(sandbox, cookie);
    assertMatch(text, new RegExp(`>${await sandbox.totp()}<`));
    assert(!text.includes(secret), "the secret is shown");
  }
});
