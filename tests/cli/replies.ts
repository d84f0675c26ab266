/** Invented replies of support channels: the same settings in different forms. */

/** The settings in a reply. */
export interface AccountSettings {
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly userPoolId: string;
  readonly apiBaseUrl: string;
}

/** The replies by their form. The last one lacks the secret. */
export function repliesWith(settings: AccountSettings): Readonly<Record<string, string>> {
  const { authUrl, clientId, clientSecret, userPoolId, apiBaseUrl } = settings;
  return {
    "lines of a .env": `Hello Ada,

please copy these lines:

APP_CLIENT_ID=${clientId}
export APP_CLIENT_SECRET='${clientSecret}'
USER_POOL_ID = ${userPoolId}
AUTH_URL=${authUrl}
API_BASE_URL="${apiBaseUrl}"

API documentation: https://docs.example.com/v1
`,
    "a list": `Dear Ada,\r
\r
your app client was set up yesterday:\r
\r
 • App client id (APP_CLIENT_ID): ${clientId}\r
 • App client secret: ${clientSecret}\r
 • User pool: “${userPoolId}”\r
 • Token endpoint: ${authUrl}.\r
 • Base address of the API: ${apiBaseUrl}\r
 • Portal: https://portal.example.com\r
\r
Kind regards\r
`,
    "JSON": `Please find the configuration below:

${
      JSON.stringify({
        subscription: "ada-2026",
        appClient: { clientId, secret: clientSecret },
        "user_pool_id": userPoolId,
        endpoints: {
          tokenEndpoint: authUrl,
          apiBaseUrl,
          documentation: "https://docs.example.com",
        },
        flows: ["USER_PASSWORD_AUTH"],
        refreshDays: 30,
      }).replaceAll("/", "\\/")
    }
`,
    "an e-mail with quote marks": `On Monday, support@example.com wrote:
> > Please send me:
> > 1. the app client id (APP_CLIENT_ID), the app client secret (APP_CLIENT_SECRET) and the
> >    user pool id;
> > 2. the address of the token endpoint (InitiateAuth) for the region of our deployment;
>
> App client id: ${clientId}
> App client secret: ${clientSecret}
>
> User pool: ${userPoolId}
>\u00a0Token endpoint: <${authUrl}>
> Data platform API: ${apiBaseUrl}
>
> -- 
> Support, https://support.example.com/tickets/20260000123456
`,
    "a reply without the secret": `Client ID: ${clientId}
Client secret: follows by text message, reference REQ-2026-0000123456
User pool id: ${userPoolId}
Token endpoint: ${authUrl}
API: ${apiBaseUrl}
`,
  };
}
