/** `readReply()`, which finds settings in a reply of the support channel. */
import { assertEquals } from "@std/assert";
import { readReply } from "../../src/cli/reply.ts";
import { fc } from "../support/property.ts";
import { type AccountSettings, repliesWith } from "./replies.ts";

/** Random text from an alphabet that providers use. */
function random(length: number, alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"): string {
  const characters = Array.from(
    { length },
    () => alphabet[Math.floor(Math.random() * alphabet.length)],
  );
  return `${characters.join("")}a1`;
}

const AWS: AccountSettings = {
  authUrl: "https://cognito-idp.eu-west-1.amazonaws.com",
  clientId: random(24),
  clientSecret: random(50),
  userPoolId: `eu-west-1_${random(7)}`,
  apiBaseUrl: "https://api.example.com/data",
};
const VENDOR: AccountSettings = {
  authUrl: "https://login.eu-3.provider.example:8443",
  clientId: `client-${random(10)}`,
  clientSecret: random(30, "abcdefghijklmnopqrstuvwxyzABCDEF0123456789+/=_.-~!$%&"),
  userPoolId: `pool_${random(6)}`,
  apiBaseUrl: "https://platform.example",
};

function valuesIn(reply: string): Record<string, string> {
  return Object.fromEntries(readReply(reply).values);
}

function variables(
  { clientSecret, ...settings }: AccountSettings,
  withSecret = true,
): Record<string, string> {
  return {
    AUTH_URL: settings.authUrl,
    APP_CLIENT_ID: settings.clientId,
    ...(withSecret && { APP_CLIENT_SECRET: clientSecret }),
    USER_POOL_ID: settings.userPoolId,
    API_BASE_URL: settings.apiBaseUrl,
  };
}

for (const [who, settings] of Object.entries({ AWS, VENDOR })) {
  for (const [form, reply] of Object.entries(repliesWith(settings))) {
    Deno.test(`readReply() finds the settings in ${form} (${who})`, () => {
      assertEquals(valuesIn(reply), variables(settings, !form.includes("without")));
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
  const rejected = (reply: string) => Object.fromEntries(readReply(reply).rejected);
  const isWord = "it has no digit, so it is probably a word of the text";
  const hasSpace = "it contains a space or an unusual character";
  assertEquals(rejected("Client id: pending\nToken endpoint: see below\nNote: none"), {
    APP_CLIENT_ID: isWord,
    AUTH_URL: hasSpace,
  });
  assertEquals(rejected(`Client id: will follow\nClient id: ${ID}`), {});
  assertEquals(rejected("USER_POOL_ID=<USER_POOL_ID>\nAPP_CLIENT_ID=\nAUTH_URL=\n"), {});
  assertEquals(rejected("API_BASE_URL=http://api.example\nAPP_CLIENT_ID='a b'"), {
    API_BASE_URL: "it must begin with https:",
    APP_CLIENT_ID: hasSpace,
  });
  assertEquals(rejected(`Client id: ${ID}\nClient id: ${ID}2`), {
    APP_CLIENT_ID: "it has more than one value",
  });
});

Deno.test("readReply() returns only printable values without spaces from any text", () => {
  const pieces = fc.constantFrom(
    ...[
      "client id",
      "secret:",
      "user pool",
      "=",
      "\n",
      "> ",
      " | ",
      "{",
      '"',
      ID,
      "API https://a.b.c",
    ],
    ...["APP_CLIENT_SECRET=", "as", "(", "\u0000", "\u00a0"],
  );
  const reply = fc.array(fc.oneof(pieces, fc.string())).map((parts) => parts.join(""));
  fc.assert(fc.property(reply, (text) => {
    for (const value of Object.values(valuesIn(text))) assertEquals(/^[!-~]*$/.test(value), true);
  }));
});
