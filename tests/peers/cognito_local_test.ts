import { assert, assertEquals } from "@std/assert";
import { type CognitoLocal, cognitoLocalTest } from "./cognito_local.ts";

async function initiateAuth(
  provider: CognitoLocal,
  body: Record<string, unknown>,
): Promise<{ status: number; answer: Record<string, unknown> }> {
  const response = await fetch(provider.url, {
    method: "POST",
    headers: {
      "x-amz-target": "AWSCognitoIdentityProviderService.InitiateAuth",
      "content-type": "application/x-amz-json-1.1",
    },
    body: JSON.stringify({ ClientId: provider.clientId, ...body }),
  });
  return { status: response.status, answer: await response.json() };
}

function claims(token: string): Record<string, unknown> {
  const [, payload = ""] = token.split(".");
  return JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, {
    alphabet: "base64url",
  })));
}

for (const signIn of ["username", "email"] as const) {
  const name = `cognito-local gives an account that logs in by ${signIn} and refreshes`;
  cognitoLocalTest(name, { signIn }, async (provider) => {
    const { username, password } = provider;

    const login = await initiateAuth(provider, {
      AuthFlow: "USER_PASSWORD_AUTH",
      AuthParameters: { USERNAME: username, PASSWORD: password },
    });
    assertEquals(login.status, 200);
    const tokens = login.answer.AuthenticationResult as Record<string, string>;
    const { AccessToken = "", RefreshToken } = tokens;
    assertEquals(claims(AccessToken).username, provider.providerUsername);
    assertEquals(provider.providerUsername === username, signIn === "username");
    assertEquals(claims(AccessToken).client_id, provider.clientId);
    assert(provider.clientSecret.length > 0);

    const refresh = await initiateAuth(provider, {
      AuthFlow: "REFRESH_TOKEN_AUTH",
      AuthParameters: { REFRESH_TOKEN: RefreshToken },
    });
    assertEquals(refresh.status, 200);

    const wrongPassword = await initiateAuth(provider, {
      AuthFlow: "USER_PASSWORD_AUTH",
      AuthParameters: { USERNAME: username, PASSWORD: "not this one" },
    });
    assertEquals([wrongPassword.status, wrongPassword.answer.__type], [
      400,
      "InvalidPasswordException",
    ]);

    const unknownClient = await initiateAuth(provider, {
      ClientId: "nobody",
      AuthFlow: "USER_PASSWORD_AUTH",
      AuthParameters: { USERNAME: username, PASSWORD: password },
    });
    assertEquals([unknownClient.status, unknownClient.answer.__type], [
      400,
      "ResourceNotFoundException",
    ]);
  });
}
