/** This client does not support a client secret, so it logs in as a public client. */
import {
  AuthenticationDetails,
  CognitoUser,
  CognitoUserPool,
  type CognitoUserSession,
} from "npm:amazon-cognito-identity-js@^6";

const setting = (name: string): string => Deno.env.get(name) ?? "";
const pool = new CognitoUserPool({
  UserPoolId: setting("USER_POOL_ID"),
  ClientId: setting("APP_CLIENT_ID"),
  endpoint: setting("AUTH_URL"),
});
const user = new CognitoUser({ Username: setting("USERNAME"), Pool: pool });
user.setAuthenticationFlowType("USER_PASSWORD_AUTH");
const details = new AuthenticationDetails({
  Username: setting("USERNAME"),
  Password: setting("PASSWORD"),
});
const session = await new Promise<CognitoUserSession>((onSuccess, onFailure) => {
  user.authenticateUser(details, { onSuccess, onFailure });
});
const answer = await fetch(`${setting("API_BASE_URL")}/v1/whoami`, {
  headers: { authorization: `bearer ${session.getAccessToken().getJwtToken()}` },
});
await answer.json();
Deno.exit(answer.ok ? 0 : 1);
