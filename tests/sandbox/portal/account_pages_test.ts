/** The pages that replace a user's authenticator app and mailbox. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import { enter, operate, portalCookie, respond, SAME_SITE, sandboxTest } from "../requests.ts";

async function signedIn(sandbox: Sandbox): Promise<{
  page: (path: string) => Promise<{ text: string; headers: Headers }>;
  paste: (secret: string) => Promise<Response>;
}> {
  const cookie = await portalCookie(sandbox);
  const send = (path: string, init: RequestInit = {}) =>
    sandbox.handle(
      new Request(sandbox.portalUrl + path, { ...init, headers: { cookie, ...SAME_SITE } }),
    );
  return {
    async page(path) {
      const response = await send(path);
      return { text: await response.text(), headers: response.headers };
    },
    paste: (secret) =>
      send("/authenticator", { method: "POST", body: new URLSearchParams({ secret }) }),
  };
}

sandboxTest("the authenticator page shows the code that a login accepts", {
  challenge: "SOFTWARE_TOKEN_MFA",
}, async ({ sandbox, clock }) => {
  clock.advance(13);
  const { page } = await signedIn(sandbox);
  const { text, headers } = await page("/authenticator");
  const code = /id="code">(\d{6})</.exec(text)?.[1] ?? "";
  assertEquals(headers.get("refresh"), "17");
  const response = await respond(sandbox, await enter(sandbox), { SOFTWARE_TOKEN_MFA_CODE: code });
  assertEquals(response.status, 200);
  clock.advance(17);
  const next = await page("/authenticator");
  assert(!next.text.includes(code));
  assertEquals(next.headers.get("refresh"), "30");
});

sandboxTest("the authenticator page accepts a secret or an otpauth:// link", {
  challenge: "MFA_SETUP",
}, async ({ sandbox, clock }) => {
  const { page, paste } = await signedIn(sandbox);
  assertMatch((await page("/authenticator")).text, /No code yet/);
  const { Session } = (await enter(sandbox)).body;
  const { body } = await operate(sandbox, "AssociateSoftwareToken", { Session });
  const secret = String(body.SecretCode);
  const address = `otpauth://totp/platform:student?secret=${secret}&issuer=platform`;
  for (const wrong of [await sandbox.totp(), "password", address.replace("totp", "hotp")]) {
    assertEquals((await paste(wrong)).status, 422);
  }
  for (const valid of [` ${secret.toLowerCase()} `, address]) {
    const { status, headers } = await paste(valid);
    assertEquals([status, headers.get("location")], [303, "/authenticator"]);
    const { text } = await page("/authenticator");
    assertMatch(text, new RegExp(`>${await sandbox.totp()}<`));
    assert(!text.includes(secret), "the secret is shown");
    clock.advance(30);
  }
});
