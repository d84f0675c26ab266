/** `readReply()`, which finds settings in a reply of the support channel. */
import { assertEquals } from "@std/assert";
import { readReply } from "../../src/cli/reply.ts";
import { type AccountSettings, repliesWith } from "./replies.ts";

const AWS: AccountSettings = {
  authUrl: "https://cognito-idp.eu-west-1.amazonaws.com",
  clientId: "7q2m0fbd9vlc4e1k8s3tnu6hpa",
  clientSecret: "1a8h0s3k5qd7vn2m9xw4zt6y1b8c0f3g5j7l2p4r6u9e1i3o5a7s",
  userPoolId: "eu-west-1_aB3dE9xYz",
  apiBaseUrl: "https://api.example.com/data",
};
const VENDOR: AccountSettings = {
  authUrl: "https://login.eu-3.provider.example:8443",
  clientId: "client-4f7a1",
  clientSecret: "aB1+/=_.-~!$%&9zY8",
  userPoolId: "pool_c0ffee",
  apiBaseUrl: "https://platform.example",
};

function valuesIn(reply: string): Record<string, string> {
  return Object.fromEntries(readReply(reply).values);
}

function variables(settings: AccountSettings) {
  return {
    AUTH_URL: settings.authUrl,
    APP_CLIENT_ID: settings.clientId,
    APP_CLIENT_SECRET: settings.clientSecret,
    USER_POOL_ID: settings.userPoolId,
    API_BASE_URL: settings.apiBaseUrl,
  };
}

for (const settings of [AWS, VENDOR]) {
  for (const [form, reply] of Object.entries(repliesWith(settings))) {
    Deno.test(`readReply() finds the settings of ${settings.clientId} in ${form}`, () => {
      const { APP_CLIENT_SECRET, ...others } = variables(settings);
      const secret = form.includes("without") ? {} : { APP_CLIENT_SECRET };
      assertEquals(valuesIn(reply), { ...others, ...secret });
    });
  }
}

const { clientId: ID, apiBaseUrl: API } = AWS;

const forms: [what: string, reply: string, found: Record<string, string>][] = [
  [
    "ignores placeholders, user name and password in lines of a .env",
    `APP_CLIENT_ID=my-client\nexport APP_CLIENT_SECRET='a!word'\nUSER_POOL_ID=<USER_POOL_ID>\n` +
    `USERNAME=ada\nPASSWORD=some-password-1234\nAUTH_REGION=eu-1\n`,
    { APP_CLIENT_ID: "my-client", APP_CLIENT_SECRET: "a!word", AUTH_REGION: "eu-1" },
  ],
  ["reads that a client has no secret", `Client secret: none\nClient ID: ${ID}`, {
    APP_CLIENT_ID: ID,
    APP_CLIENT_SECRET: "",
  }],
  [
    "reads Markdown",
    `1. **App client id:** \`${ID}\`\n2. **Token endpoint** (EU): <${AWS.authUrl}>.\n`,
    { APP_CLIENT_ID: ID, AUTH_URL: AWS.authUrl },
  ],
  // In doubt, no value is better than a wrong one: init then prompts.
  [
    "ignores a word that stands in place of the secret",
    "Client secret: follows-by-text-message",
    {},
  ],
  [
    "ignores sentences",
    `The client id is ${ID}, and the token endpoint is ${API}.\nOur API: see ${API}`,
    {},
  ],
  ["ignores an address without https:", "Token endpoint: provider.example", {}],
  ["reads the endpoint after the label Endpoint:", `Endpoint: ${AWS.authUrl}`, {
    AUTH_URL: AWS.authUrl,
  }],
  ["ignores an endpoint inside a nested JSON object", `{"api": {"endpoint": "${API}"}}`, {}],
  ["chooses neither of two clients", `Test client id: ${ID}\nProduction client id: ${ID}2`, {}],
  ["ignores the address of a portal", "Log in to the portal: https://portal.example.com/api", {}],
];
for (const [what, reply, found] of forms) {
  Deno.test(`readReply() ${what}`, () => assertEquals(valuesIn(reply), found));
}

Deno.test("readReply() says why it ignores a value, unless the reply also contains a valid one", () => {
  const reply = `Client id: will follow\nClient id: ${ID}\nPool id: pool-1\nPool id: pool-2\n` +
    "Token endpoint: see below\nClient secret: pending\nAPI: http://api.example\n";
  assertEquals(Object.fromEntries(readReply(reply).rejected), {
    USER_POOL_ID: "it has more than one value",
    AUTH_URL: "it contains a space or an unusual character",
    APP_CLIENT_SECRET: "it has no digit, so it is probably a word of the text",
    API_BASE_URL: "it must begin with https:",
  });
});
