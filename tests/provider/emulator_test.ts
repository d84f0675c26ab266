import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  createSession,
  ProviderError,
  SessionExpiredError,
  type SessionOptions,
} from "../../mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { cognitoLocalTest } from "./cognito_local.ts";

async function codeOf(work: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => work, ProviderError)).code;
}

for (const signIn of ["username", "email"] as const) {
  const name = `a session works with cognito-local when users sign in by ${signIn}`;
  cognitoLocalTest(name, { signIn }, async (provider, t) => {
    const { clientId, clientSecret, userPoolId, username, password } = provider;
    const options: SessionOptions = {
      authUrl: provider.url,
      provider: "aws",
      clientId,
      clientSecret,
      userPoolId,
    };
    const account = { username, password };
    const session = createSession(options);

    await t.step("login() reads the lifetime from the token", async () => {
      const status = await session.login(account);
      assertEquals([status.state, status.source, status.canRefresh], ["valid", "password", true]);
      assertEquals(status.username, provider.providerUsername);
      const seconds = ((status.accessTokenExpiresAt?.getTime() ?? 0) - Date.now()) / 1_000;
      assert(seconds > 60 && seconds <= 86_400, `${seconds} s`);
    });

    await t.step("refresh() gets another access token and keeps the refresh token", async () => {
      const before = await session.accessToken();
      const status = await session.refresh();
      assertEquals([status.state, status.source, status.canRefresh], ["valid", "refresh", true]);
      assert(await session.accessToken() !== before);
      assertEquals((await session.refresh()).canRefresh, true);
    });

    await t.step("doctor() reports ok for a login, a refresh and a logout", async () => {
      const { checks } = await createSession({ ...options, ...account }).doctor({ login: true });
      const tried = checks.filter(({ name }) => ["login", "refresh", "logout"].includes(name));
      assertEquals(tried.map(({ level }) => level), ["ok", "ok", "ok"]);
    });

    await t.step("login() fails with INVALID_CREDENTIALS for a wrong password", async () => {
      const wrong = createSession(options).login({ username, password: "Wrong-password-1" });
      assertEquals(await codeOf(wrong), "INVALID_CREDENTIALS");
    });

    await t.step("login() fails with INVALID_CREDENTIALS for an unknown user", async () => {
      const unknown = createSession(options).login({ username: "nobody@example.org", password });
      assertEquals(await codeOf(unknown), "INVALID_CREDENTIALS");
    });

    await t.step("login() fails with CLIENT_UNKNOWN for an unknown client", async () => {
      const stranger = createSession({ ...options, clientId: "nobody" });
      assertEquals(await codeOf(stranger.login(account)), "CLIENT_UNKNOWN");
    });

    await t.step(
      "refresh() fails with REFRESH_REJECTED for an unknown refresh token",
      () =>
        inFolder(async (folder) => {
          const envFile = `${folder}/.env`;
          await Deno.writeTextFile(envFile, "REFRESH_TOKEN=unknown-refresh-token\n");
          const stale = createSession({ ...options, ...account, envFile });
          const error = await assertRejects(() => stale.refresh(), SessionExpiredError);
          assertEquals(error.code, "REFRESH_REJECTED");
        }),
    );
  });
}
