import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { type Answers, type Challenge, createSession } from "../../mod.ts";
import { totpIn } from "../../src/sandbox/identity_provider/challenges/authenticators.ts";
import { inFolder } from "../support/child_deno.ts";
import { testNeeding } from "../support/needs.ts";
import { rejection } from "../support/portless.ts";
import {
  type CognitoLocal,
  newPassword,
  NO_COGNITO_LOCAL,
  startCognitoLocal,
} from "./cognito_local.ts";

testNeeding(
  NO_COGNITO_LOCAL,
  "a session works with cognito-local",
  (t) =>
    inFolder(async (folder) => {
      await using provider = await startCognitoLocal(folder);
      for (const [name, step] of Object.entries(STEPS)) await t.step(name, () => step(provider));
    }),
);

const STEPS: Record<string, (provider: CognitoLocal) => Promise<void>> = {
  async "login() reads user name and lifetime from the token, and refresh() gets another one"(
    { settings, account, providerUsername },
  ) {
    const session = createSession(settings);
    const status = await session.login(account);
    assertEquals([status.state, status.source, status.canRefresh], ["valid", "password", true]);
    assertEquals(status.username, providerUsername);
    assertNotEquals(providerUsername, account.username);
    const seconds = ((status.accessTokenExpiresAt?.getTime() ?? 0) - Date.now()) / 1_000;
    assert(seconds > 60 && seconds <= 86_400, `${seconds} s`);
    const first = await session.accessToken();
    const { state, source, canRefresh } = await session.refresh();
    assertEquals([state, source, canRefresh], ["valid", "refresh", true]);
    assertNotEquals(await session.accessToken(), first);
  },

  async "doctor() reports ok for a login, a refresh and a logout"({ settings, account }) {
    const { checks } = await createSession({ ...settings, ...account }).doctor({ login: true });
    const tried = checks.filter(({ name }) => ["login", "refresh", "logout"].includes(name));
    assertEquals(tried.map(({ level }) => level), ["ok", "ok", "ok"]);
  },

  async "each refusal has its code"({ settings, account }) {
    const codeOf = async (work: Promise<unknown>) => (await rejection(work)).code;
    const session = createSession(settings);
    const login = (wrong: object) => codeOf(session.login({ ...account, ...wrong }));
    assertEquals(await login({ password: "Wrong-password-1" }), "INVALID_CREDENTIALS");
    assertEquals(await login({ username: "nobody@example.org" }), "INVALID_CREDENTIALS");
    const stranger = createSession({ ...settings, clientId: "nobody" });
    assertEquals(await codeOf(stranger.login(account)), "CLIENT_UNKNOWN");
    await inFolder(async (folder) => {
      const envFile = `${folder}/.env`;
      await Deno.writeTextFile(envFile, "REFRESH_TOKEN=unknown-refresh-token\n");
      const stale = createSession({ ...settings, ...account, envFile });
      assertEquals(await codeOf(stale.refresh()), "REFRESH_REJECTED");
    });
  },

  async "login() sets a new password"({ settings, admin }) {
    const user = { username: "grace@example.org", password: newPassword() };
    await admin("AdminCreateUser", {
      UserPoolId: settings.userPoolId,
      Username: user.username,
      TemporaryPassword: user.password,
      MessageAction: "SUPPRESS",
    });
    const NEW_PASSWORD = newPassword();
    const asked: string[] = [];
    const onChallenge = ({ name }: Challenge) => {
      asked.push(name);
      return { NEW_PASSWORD };
    };
    assertEquals((await createSession(settings).login({ ...user, onChallenge })).state, "valid");
    assertEquals(asked, ["NEW_PASSWORD_REQUIRED"]);
    const later = await createSession(settings).login({ ...user, password: NEW_PASSWORD });
    assertEquals(later.state, "valid");
  },

  async "login() sends the code of an authenticator app"({ settings, account, admin }) {
    const session = createSession(settings);
    await session.login(account);
    const of = { AccessToken: await session.accessToken() };
    const { SecretCode } = await admin("AssociateSoftwareToken", of);
    const code = () => totpIn(SecretCode)?.generate() ?? "";
    await admin("SetUserPoolMfaConfig", {
      UserPoolId: settings.userPoolId,
      MfaConfiguration: "OPTIONAL",
      SoftwareTokenMfaConfiguration: { Enabled: true },
    });
    const phone = { UserCode: code(), FriendlyDeviceName: "Phone" };
    await admin("VerifySoftwareToken", { ...of, ...phone });
    await admin("SetUserMFAPreference", {
      ...of,
      SoftwareTokenMfaSettings: { Enabled: true, PreferredMfa: true },
    });
    const asked: string[] = [];
    const onChallenge = ({ attempt, asks }: Challenge): Answers => {
      asked.push(`${attempt} ${asks[0]?.prompt}`);
      return { SOFTWARE_TOKEN_MFA_CODE: attempt === 1 ? "00000000" : code() };
    };
    assertEquals((await session.login({ ...account, onChallenge })).state, "valid");
    const prompt = "Code from your authenticator app (Phone):";
    assertEquals(asked, [`1 ${prompt}`, `2 ${prompt}`]);
  },
};
