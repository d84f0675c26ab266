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
    if (form === "prose") continue; // readReply() takes no addresses from prose
    Deno.test(`readReply() finds the settings in ${form} (${who})`, () => {
      assertEquals(valuesIn(reply), variables(settings, !form.includes("without")));
    });
  }
}

const { clientId: ID, clientSecret: SECRET, apiBaseUrl: API } = AWS;

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
    `1. **App client id:** \`${ID}\`\n2. **Token endpoint** (EU): <${AWS.authUrl}/>\n`,
    { APP_CLIENT_ID: ID, AUTH_URL: AWS.authUrl },
  ],
  // In doubt, no value is better than a wrong one: init then prompts.
  ["ignores a word instead of the secret", "Client secret: follows-by-text-message", {}],
  ["takes the secret, but no address, from sentences", repliesWith(AWS)["prose"] ?? "", {
    APP_CLIENT_SECRET: SECRET,
  }],
  [
    "reads two settings in one sentence",
    `Hi Ada\nThe client ID is ${ID}, the secret is ${SECRET}.\nBest`,
    { APP_CLIENT_ID: ID, APP_CLIENT_SECRET: SECRET },
  ],
  [
    "reads a table with a setting in each row",
    `| Setting | Value |\n|---|:--|\n| Client ID | \`${ID}\` |\n| **Token endpoint** | ${AWS.authUrl} |\n`,
    { APP_CLIENT_ID: ID, AUTH_URL: AWS.authUrl },
  ],
  [
    "reads a table with a setting in each column",
    `Client ID | Secret | Pool\n--- | --- | ---\n${ID} | ${SECRET} | my-pool_1\n`,
    { APP_CLIENT_ID: ID, APP_CLIENT_SECRET: SECRET, USER_POOL_ID: "my-pool_1" },
  ],
  [
    "ignores an address in a sentence",
    `Our API: see https://a.example, and the token endpoint: ${API}`,
    {},
  ],
  ["chooses neither of two clients", `Test client id: ${ID}\nProduction client id: ${ID}2`, {}],
  [
    "ignores two labels before two values",
    `The client id and the client secret are ${ID} and ${SECRET}.`,
    {},
  ],
  ["ignores the address of a portal", "Log in to the portal: https://portal.example.com/api", {}],
];
for (const [what, reply, found] of forms) {
  Deno.test(`readReply() ${what}`, () => assertEquals(valuesIn(reply), found));
}

Deno.test("readReply() says why it ignores a value, unless the reply also contains a valid one", () => {
  const rejected = (reply: string) => Object.fromEntries(readReply(reply).rejected);
  const noId = "it is not an id of letters and digits";
  assertEquals(rejected("Client id: will follow\nToken endpoint: see below\nNote: none"), {
    APP_CLIENT_ID: noId,
    AUTH_URL: "it is not an address such as https://api.example.com",
  });
  assertEquals(rejected(`Client id: will follow\nClient id: ${ID}`), {});
  assertEquals(rejected("USER_POOL_ID=<USER_POOL_ID>\nAPP_CLIENT_ID=\nAUTH_URL=\n"), {
    USER_POOL_ID: noId,
  });
  assertEquals(rejected("API_BASE_URL=http://api.example\nAPP_CLIENT_ID='a b'"), {
    API_BASE_URL: "it must begin with https:",
    APP_CLIENT_ID: "it contains a space or an unusual character",
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
