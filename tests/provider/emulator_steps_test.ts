import { assertEquals } from "@std/assert";
import { type Answers, type Challenge, createSession } from "../../mod.ts";
import { totpIn } from "../../src/sandbox/identity_provider/challenges/authenticators.ts";
import { type CognitoLocal, cognitoLocalTest } from "./cognito_local.ts";

function sessionAt({ url, clientId, clientSecret, userPoolId }: CognitoLocal) {
  return createSession({ authUrl: url, provider: "aws", clientId, clientSecret, userPoolId });
}

cognitoLocalTest(
  "login() completes the steps of cognito-local for a new password and an authenticator app",
  { signIn: "username" },
  async (provider) => {
    const user = { username: "grace", password: `Aa1!${crypto.randomUUID()}` };
    await provider.admin("AdminCreateUser", {
      UserPoolId: provider.userPoolId,
      Username: user.username,
      TemporaryPassword: user.password,
      MessageAction: "SUPPRESS",
    });
    const NEW_PASSWORD = `Aa1!${crypto.randomUUID()}`;
    const asked: string[] = [];
    const first = await sessionAt(provider).login({
      ...user,
      onChallenge({ name }) {
        asked.push(name);
        return { NEW_PASSWORD };
      },
    });
    assertEquals([first.state, asked], ["valid", ["NEW_PASSWORD_REQUIRED"]]);
    const later = await sessionAt(provider).login({ ...user, password: NEW_PASSWORD });
    assertEquals([later.state, later.username], ["valid", user.username]);

    const { username, password } = provider;
    const session = sessionAt(provider);
    await session.login({ username, password });
    const account = { AccessToken: await session.accessToken() };
    const { SecretCode } = await provider.admin<{ SecretCode: string }>(
      "AssociateSoftwareToken",
      account,
    );
    const code = () => totpIn(SecretCode)?.generate() ?? "";
    await provider.admin("SetUserPoolMfaConfig", {
      UserPoolId: provider.userPoolId,
      MfaConfiguration: "OPTIONAL",
      SoftwareTokenMfaConfiguration: { Enabled: true },
    });
    await provider.admin("VerifySoftwareToken", {
      ...account,
      UserCode: code(),
      FriendlyDeviceName: "Phone",
    });
    await provider.admin("SetUserMFAPreference", {
      ...account,
      SoftwareTokenMfaSettings: { Enabled: true, PreferredMfa: true },
    });
    const codes: string[] = [];
    const onChallenge = ({ attempt, asks }: Challenge): Answers => {
      codes.push(`${attempt} ${asks[0]?.prompt}`);
      return { SOFTWARE_TOKEN_MFA_CODE: attempt === 1 ? "00000000" : code() };
    };
    const prompt = "Code from your authenticator app (Phone):";
    assertEquals((await session.login({ username, password, onChallenge })).state, "valid");
    assertEquals(codes, [`1 ${prompt}`, `2 ${prompt}`]);
  },
);
