import {
  CognitoIdentityProviderClient,
  InitiateAuthCommand,
} from "npm:@aws-sdk/client-cognito-identity-provider@^3";
import { createHmac } from "node:crypto";

const setting = (name: string): string => Deno.env.get(name) ?? "";
const client = new CognitoIdentityProviderClient({
  region: "eu-central-1",
  endpoint: setting("AUTH_URL"),
});
const hash = createHmac("sha256", setting("APP_CLIENT_SECRET"))
  .update(setting("USERNAME") + setting("APP_CLIENT_ID")).digest("base64");
const { AuthenticationResult: tokens } = await client.send(
  new InitiateAuthCommand({
    AuthFlow: "USER_PASSWORD_AUTH",
    ClientId: setting("APP_CLIENT_ID"),
    AuthParameters: {
      USERNAME: setting("USERNAME"),
      PASSWORD: setting("PASSWORD"),
      SECRET_HASH: hash,
    },
  }),
);
const answer = await fetch(`${setting("API_BASE_URL")}/v1/whoami`, {
  headers: { authorization: `bearer ${tokens?.AccessToken}` },
});
await answer.json();
Deno.exit(answer.ok ? 0 : 1);
