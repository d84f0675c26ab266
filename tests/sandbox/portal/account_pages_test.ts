/** The pages of the sandbox's portal, asked over HTTP. A browser opens them in `tests/browser`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Sandbox } from "../../../src/sandbox/mod.ts";
import { enter, newestCode, operate, respond } from "../identity_provider/steps.ts";
import { portalCookie, sandboxAt } from "../requests.ts";

async function signedIn(sandbox: Sandbox): Promise<{
  page: (path: string) => Promise<string>;
  status: (path: string) => Promise<number>;
  paste: (secret: string) => Promise<Response>;
}> {
  const { username, password } = sandbox.settings;
  const cookie = await portalCookie(sandbox, username, password);
  const get = (path: string) =>
    sandbox.handle(new Request(sandbox.portalUrl + path, { headers: { cookie } }));
  const page = async (path: string) => await (await get(path)).text();
  return {
    page,
    status: async (path) => (await get(path)).status,
    paste: async (secret) => {
      const csrf = /name="csrf" value="([^"]+)"/.exec(await page("/authenticator"))?.[1] ?? "";
      return await sandbox.handle(
        new Request(`${sandbox.portalUrl}/authenticator`, {
          method: "POST",
          headers: { cookie, "sec-fetch-site": "same-origin" },
          body: new URLSearchParams({ csrf, secret }),
        }),
      );
    },
  };
}

Deno.test("the authenticator page shows the code that a login takes, and how long", async () => {
  const { sandbox, clock } = sandboxAt({ challenge: "SOFTWARE_TOKEN_MFA" });
  await using _ = sandbox;
  clock.advance(13);
  const { page } = await signedIn(sandbox);
  const text = await page("/authenticator");
  const shown = /id="code">(\d{6})</.exec(text)?.[1] ?? "";
  assertMatch(text, /The next one comes in 17 s/);
  const answer = await respond(sandbox, await enter(sandbox), { SOFTWARE_TOKEN_MFA_CODE: shown });
  assertEquals(answer.status, 200);
  clock.advance(17);
  const next = JSON.parse(await page("/authenticator/code"));
  assertEquals([next.code === shown, next.secondsLeft], [false, 30]);
});

Deno.test("an authenticator is set up by pasting the secret or its otpauth address", async () => {
  const { sandbox, clock } = sandboxAt({ challenge: "MFA_SETUP" });
  await using _ = sandbox;
  const { page, status, paste } = await signedIn(sandbox);
  assertMatch(await page("/authenticator"), /No code yet/);
  assertEquals(await status("/authenticator/code"), 401);
  const { Session } = (await enter(sandbox)).body;
  const { body } = await operate(sandbox, "AssociateSoftwareToken", { Session });
  const secret = String(body.SecretCode);
  const address = `otpauth://totp/platform:student?secret=${secret}&issuer=platform`;
  for (const wrong of ["x", `${address}&digits=8`, address.replace("totp", "hotp")]) {
    const refused = await paste(wrong);
    assertEquals(refused.status, 422);
    assertMatch(await refused.text(), /no secret of an authenticator/);
  }
  for (const good of [` ${secret.toLowerCase()} `, address]) {
    const { status, headers } = await paste(good);
    assertEquals([status, headers.get("location")], [303, "/authenticator"]);
    const text = await page("/authenticator");
    assertMatch(text, new RegExp(`>${await sandbox.totp()}<`));
    assert(!text.includes(secret), "the secret is shown");
    clock.advance(30);
  }
});

Deno.test("the message page has what was sent to this user, the newest first", async () => {
  const { sandbox } = sandboxAt({ challenge: "EMAIL_OTP" });
  await using _ = sandbox;
  const { page } = await signedIn(sandbox);
  assertMatch(await page("/messages"), /Nothing was sent/);
  const ada = { username: "ada", password: "Other-1", phone: "+15555550111" };
  sandbox.addUser({ ...ada, challenge: "SMS_MFA" });
  await enter(sandbox);
  const first = newestCode(sandbox);
  await enter(sandbox);
  const second = newestCode(sandbox);
  await enter(sandbox, ada);
  const text = await page("/messages");
  const codes = [...text.matchAll(/Your code is <strong class="code">(\d+)</g)];
  assertEquals(codes.map(([, code]) => code), [second, first]);
  assertMatch(text, /Mail to <strong>student@sandbox.example</);
});

Deno.test("both pages need a sign-in, and the form its own page", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  for (const path of ["/authenticator", "/messages"]) {
    const { status, headers } = await sandbox.handle(new Request(sandbox.portalUrl + path));
    assertEquals([status, headers.get("location")], [303, "/login"]);
  }
  const { username, password } = sandbox.settings;
  const cookie = await portalCookie(sandbox, username, password);
  const body = new URLSearchParams({ csrf: "guess", secret: "GEZDGNBVGY3TQOJQ" });
  const headers = { cookie, "sec-fetch-site": "same-origin" };
  const forged = new Request(`${sandbox.portalUrl}/authenticator`, {
    method: "POST",
    headers,
    body,
  });
  assertEquals((await sandbox.handle(forged)).status, 403);
});
