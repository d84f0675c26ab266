import { assertEquals } from "@std/assert";
import { readReply } from "../../src/cli/reply.ts";
import { fc } from "../support/property.ts";
import { repliesWith, type Told } from "./replies.ts";

/** Chosen by the seed of the run, of an alphabet that providers use. */
function random(length: number, alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"): string {
  const characters = Array.from(
    { length },
    () => alphabet[Math.floor(Math.random() * alphabet.length)],
  );
  return `${characters.join("")}a1`;
}

const AWS: Told = {
  authUrl: "https://cognito-idp.eu-west-1.amazonaws.com",
  clientId: random(24),
  clientSecret: random(50),
  userPoolId: `eu-west-1_${random(7)}`,
  apiBaseUrl: "https://api.example.com/data",
};
const VENDOR: Told = {
  authUrl: "https://login.eu-3.provider.example:8443",
  clientId: `client-${random(10)}`,
  clientSecret: random(30, "abcdefghijklmnopqrstuvwxyzABCDEF0123456789+/=_.-~!$%&"),
  userPoolId: `pool_${random(6)}`,
  apiBaseUrl: "https://platform.example",
};

function valuesIn(reply: string): Record<string, string> {
  return Object.fromEntries([...readReply(reply)].map(([name, value]) => [name, value.reveal()]));
}

function variables({ clientSecret, ...told }: Told, withSecret = true): Record<string, string> {
  return {
    AUTH_URL: told.authUrl,
    APP_CLIENT_ID: told.clientId,
    ...(withSecret && { APP_CLIENT_SECRET: clientSecret }),
    USER_POOL_ID: told.userPoolId,
    API_BASE_URL: told.apiBaseUrl,
  };
}

for (const [who, told] of Object.entries({ AWS, VENDOR })) {
  for (const [form, reply] of Object.entries(repliesWith(told))) {
    if (form === "prose") continue;
    Deno.test(`readReply() finds the settings in ${form} (${who})`, () => {
      assertEquals(valuesIn(reply), variables(told, !form.includes("without")));
    });
  }
}

const { clientId: ID, clientSecret: SECRET, userPoolId: POOL, apiBaseUrl: API } = AWS;

const forms: [what: string, reply: string, found: Record<string, string>][] = [
  [
    "a table with the labels in its first row",
    `| App client id | App client secret | Pool id | API base URL |\n|---|---|---|---|\n` +
    `| ${ID} | ${SECRET} | ${POOL} | ${API} |\n`,
    { APP_CLIENT_ID: ID, APP_CLIENT_SECRET: SECRET, USER_POOL_ID: POOL, API_BASE_URL: API },
  ],
  [
    "columns with tabs",
    `App client ID\tApp client secret\n${ID}\t${SECRET}\n`,
    { APP_CLIENT_ID: ID, APP_CLIENT_SECRET: SECRET },
  ],
  [
    "lines of a .env, but no user and no placeholder",
    `APP_CLIENT_ID=my-client\nexport APP_CLIENT_SECRET='a!word'\nUSER_POOL_ID=<USER_POOL_ID>\n` +
    `USERNAME=ada\nPASSWORD=some-password-1234\nAUTH_REGION=eu-1\n`,
    { APP_CLIENT_ID: "my-client", APP_CLIENT_SECRET: "a!word", AUTH_REGION: "eu-1" },
  ],
  ["a client without a secret", `Client secret: none\nClient ID: ${ID}`, {
    APP_CLIENT_ID: ID,
    APP_CLIENT_SECRET: "",
  }],
  [
    "German, with bullets",
    `Sehr geehrte Frau Müller,\r\n\r\nhier die Daten für „Wind Nord“:\r\n\r\n • App-Client-ID: ${ID}\r\n` +
    ` • Client-Geheimnis: ${SECRET}\r\n • Benutzerpool-ID: ${POOL}\r\n` +
    ` • Adresse des Token-Endpunkts: ${VENDOR.authUrl}\r\n • Basisadresse der API: ${API}\r\n` +
    ` • Dokumentation der API: https://docs.example.com/x\r\n`,
    { ...variables({ ...AWS, authUrl: VENDOR.authUrl }) },
  ],
  [
    "Markdown",
    `1. **App client id:** \`${ID}\`\n2. **Token endpoint** (EU): <${AWS.authUrl}/>\n`,
    { APP_CLIENT_ID: ID, AUTH_URL: AWS.authUrl },
  ],
  [
    "short labels",
    `> client id = ${ID}\n> pool: my-pool_1\n> client secret = ${"only-letters-".repeat(3)}x\n`,
    {
      APP_CLIENT_ID: ID,
      USER_POOL_ID: "my-pool_1",
      APP_CLIENT_SECRET: `${"only-letters-".repeat(3)}x`,
    },
  ],
  // A question is better than a wrong setting.
  ["a word for a secret that comes later", "Client secret: follows-by-text-message", {}],
  ["sentences", repliesWith(AWS)["prose"] ?? "", {}],
  [
    "German sentences",
    `Die ID Ihres App-Clients lautet ${ID}. Das Secret ist ${SECRET}\nDer User-Pool lautet ${POOL}. ` +
    `Der Endpunkt für Tokens ist ${VENDOR.authUrl}, die API erreichen Sie unter ${API}.\n`,
    {},
  ],
  [
    "an address in a sentence",
    `Our API: see https://a.example, and the token endpoint: ${API}`,
    {},
  ],
  ["an address of another kind", `Issuer: ${AWS.authUrl}/x\nAmazon Cognito\nPortal: ${API}`, {}],
  ["two addresses behind a label", `Token endpoint: ${AWS.authUrl} or ${VENDOR.authUrl}`, {}],
  ["two clients", `Test client id: ${ID}\nProduction client id: ${ID}2`, {}],
  ["labels in a list", `The client id and the client secret are ${ID} and ${SECRET}.`, {}],
  ["stars and placeholders", `Client secret: ${"*".repeat(20)}\nClient id: <APP_CLIENT_ID>`, {}],
  ["JSON that is cut off", `{"client_id":"${ID}","client_secret":"${SECRET}","x`, {}],
  ["a portal that is no provider", "Log in to the portal: https://portal.example.com/api", {}],
  ["nothing", "", {}],
];
for (const [what, reply, found] of forms) {
  Deno.test(`readReply() and ${what}`, () => assertEquals(valuesIn(reply), found));
}

Deno.test("readReply() gives values without a blank, whatever the text is", () => {
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
