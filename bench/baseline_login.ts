/** The least that a login and one call take: settings from the environment, one POST, one GET. */
const setting = (name: string): string => Deno.env.get(name) ?? "";
const clientId = setting("APP_CLIENT_ID");
const username = setting("USERNAME");
const encoder = new TextEncoder();
const key = await crypto.subtle.importKey(
  "raw",
  encoder.encode(setting("APP_CLIENT_SECRET")),
  { name: "HMAC", hash: "SHA-256" },
  false,
  ["sign"],
);
const mac = await crypto.subtle.sign("HMAC", key, encoder.encode(username + clientId));
const login = await fetch(setting("AUTH_URL"), {
  method: "POST",
  headers: {
    "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth",
    "Content-Type": "application/x-amz-json-1.1",
  },
  body: JSON.stringify({
    AuthFlow: "USER_PASSWORD_AUTH",
    ClientId: clientId,
    UserPoolId: setting("USER_POOL_ID"),
    AuthParameters: {
      USERNAME: username,
      PASSWORD: setting("PASSWORD"),
      SECRET_HASH: new Uint8Array(mac).toBase64(),
    },
  }),
});
const { AuthenticationResult: tokens } = await login.json();
const answer = await fetch(`${setting("API_BASE_URL")}/v1/whoami`, {
  headers: { authorization: `bearer ${tokens.AccessToken}` },
});
await answer.json();
if (!answer.ok) Deno.exit(1);
