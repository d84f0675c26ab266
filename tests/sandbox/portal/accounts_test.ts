import { assertEquals, assertMatch } from "@std/assert";
import { enter, respond } from "../identity_provider/steps.ts";
import { callApi, sandboxAt, signIn } from "../requests.ts";

for (const aliasSignIn of [false, true]) {
  Deno.test(`portal's token opens the API, aliasSignIn ${aliasSignIn}`, async () => {
    const { sandbox } = sandboxAt({ aliasSignIn });
    await using _ = sandbox;
    const { username, password } = sandbox.settings;
    const welcome = await signIn(sandbox, username, password);
    assertEquals([welcome.status, welcome.headers.get("location")], [303, "/"]);
    const cookie = (welcome.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
    const page = await sandbox.handle(new Request(sandbox.portalUrl, { headers: { cookie } }));
    const html = await page.text();
    assertMatch(html, new RegExp(username));
    assertMatch(html, /Copy Token/);
    const csrf = /csrf[^>]*?(?:value|content)="([^"]+)"/.exec(html)?.[1] ?? "";
    const answer = await sandbox.handle(
      new Request(`${sandbox.portalUrl}/token`, {
        method: "POST",
        headers: { cookie, "sec-fetch-site": "same-origin", "x-csrf-token": csrf },
      }),
    );
    const { text } = await answer.json();
    const stations = await callApi(sandbox, "/v1/stations", text.replace("bearer ", ""));
    assertEquals(stations.status, 200);
  });
}

Deno.test("portal and token endpoint share passwords, states and lockout", async () => {
  const { sandbox, clock } = sandboxAt({ lockoutAfter: 1 });
  await using _ = sandbox;
  const { username, password } = sandbox.settings;
  sandbox.addUser({ username: "new", password: "Other-1", status: "unconfirmed" });
  assertEquals((await signIn(sandbox, "new", "Other-1")).status, 422);
  assertEquals((await signIn(sandbox, username, "wrong")).status, 422);
  const locked = await signIn(sandbox, username, password);
  assertEquals([locked.status, locked.headers.get("retry-after")], [429, "1"]);
  clock.advance(1);
  assertEquals((await signIn(sandbox, username, password)).status, 303);
});

Deno.test("a user of an administrator enters the portal with the new password only", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const ada = { username: "ada", password: "temporary", email: "ada@sandbox.example" };
  sandbox.addUser({ ...ada, status: "new-password-required" });
  assertEquals((await signIn(sandbox, "ada", ada.password)).status, 422);
  const asked = await enter(sandbox, ada);
  await respond(sandbox, asked, { NEW_PASSWORD: "Chosen-Entry-2" });
  assertEquals((await signIn(sandbox, "ada", ada.password)).status, 422);
  assertEquals((await signIn(sandbox, "ada", "Chosen-Entry-2")).status, 303);
});
