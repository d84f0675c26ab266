import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  awsHeaders,
  type Body,
  fault,
  logIn,
  loginBody,
  refreshBody,
  sandboxTest,
  send,
  vendorHeaders,
} from "./requests.ts";

sandboxTest(
  "the token endpoint responds to a login as section 2.2 of the API document shows",
  { accessTokenSeconds: 600 },
  async ({ sandbox, clock }) => {
    const { status, headers, body, result } = await send(sandbox, loginBody(sandbox));
    assertEquals(status, 200);
    assertEquals(Object.keys(body).sort(), ["AuthenticationResult", "ChallengeParameters"]);
    assertEquals(body.ChallengeParameters, {});
    assertEquals(Object.keys(result), [
      "AccessToken",
      "ExpiresIn",
      "IdToken",
      "RefreshToken",
      "TokenType",
    ]);
    assertEquals([result.ExpiresIn, result.TokenType], [600, "Bearer"]);
    assertMatch(String(result.RefreshToken), /^[\w-]{200,}$/);
    assertEquals(headers.get("content-type"), "application/x-vendor-json-1.1");
    assertMatch(headers.get("x-amzn-requestid") ?? "", /^[0-9a-f-]{36}$/);
    assertEquals(headers.get("date"), new Date(clock.now()).toUTCString());
  },
);

interface Change {
  readonly body?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

const UNKNOWN = { "x-vendor-target": "VendorIdentityProviderService.toString" };
const ENVELOPE_FAULTS: [what: string, change: Change, expected: RegExp][] = [
  ["the method PUT", { method: "PUT" }, /^405 UnknownOperationException/],
  ["no target header", { headers: { "x-vendor-target": "" } }, /^400 UnknownOperationException/],
  ["an unknown operation", { headers: UNKNOWN }, /^400 UnknownOperationException/],
  [
    "the content type application/json",
    { headers: { "content-type": "application/json" } },
    /^400 SerializationException: Content-Type must be exactly application\/x-vendor-json-1.1/,
  ],
  ["broken JSON as its body", { body: '{"AuthFlow":' }, /^400 SerializationException/],
  ["an array as its body", { body: "[]" }, /^400 SerializationException/],
];

for (const [what, { body, method = "POST", headers }, expected] of ENVELOPE_FAULTS) {
  sandboxTest(`the token endpoint refuses a request with ${what}`, {}, async ({ sandbox }) => {
    const init = { method, headers: { ...vendorHeaders(), ...headers } };
    const answer = await send(sandbox, body ?? loginBody(sandbox), init);
    assertMatch(fault(answer), expected);
    assertEquals(answer.headers.get("x-amzn-errortype"), `${answer.body.__type}:`);
  });
}

const CLIENT = "sandboxclient0000000000001";
const INVALID = "InvalidParameterException:";
const MISSING = `${INVALID} Missing required parameter`;
const REFUSED = "NotAuthorizedException:";

const BODY_FAULTS: [what: string, fields: Body, parameters: Body, expected: string][] = [
  ["no client id", { ClientId: undefined }, {}, `${MISSING} ClientId`],
  [
    "an unknown client",
    { ClientId: "other" },
    {},
    "ResourceNotFoundException: User pool client other does not exist.",
  ],
  [
    "a flow that is not enabled",
    { AuthFlow: "USER_SRP_AUTH" },
    {},
    `${INVALID} USER_SRP_AUTH flow not enabled for this client`,
  ],
  ["an unknown flow", { AuthFlow: "x" }, {}, `${INVALID} Initiate Auth method not supported.`],
  ["no password", {}, { PASSWORD: "" }, `${MISSING} PASSWORD`],
  [
    "no secret hash",
    {},
    { SECRET_HASH: undefined },
    `${REFUSED} Client ${CLIENT} is configured with secret but SECRET_HASH was not received`,
  ],
  [
    "a wrong secret hash",
    {},
    { SECRET_HASH: "AAAA" },
    `${REFUSED} Unable to verify secret hash for client ${CLIENT}`,
  ],
  ["a wrong password", {}, { PASSWORD: "x" }, `${REFUSED} Incorrect username or password.`],
];

for (const [what, fields, parameters, expected] of BODY_FAULTS) {
  sandboxTest(`the token endpoint refuses a login with ${what}`, {}, async ({ sandbox }) => {
    const answer = await send(sandbox, { ...loginBody(sandbox, parameters), ...fields });
    assertEquals(fault(answer), `400 ${expected}`);
  });
}

sandboxTest(
  'with words: "aws", the token endpoint accepts only the protocol names of AWS and needs no user pool',
  { words: "aws" },
  async ({ sandbox }) => {
    assertEquals(sandbox.settings.provider, "aws");
    const headers = awsHeaders();
    const body = { ...loginBody(sandbox), UserPoolId: undefined };
    const { status, headers: answered } = await send(sandbox, body, { headers });
    assertEquals([status, answered.get("content-type")], [200, "application/x-amz-json-1.1"]);
    assertEquals((await send(sandbox, { ...body, UserPoolId: "any" }, { headers })).status, 200);
    assertEquals((await send(sandbox, loginBody(sandbox))).status, 400);
  },
);

sandboxTest(
  "the token endpoint refuses a SECRET_HASH from a public client",
  { clientSecret: false },
  async ({ sandbox }) => {
    assertEquals(sandbox.settings.clientSecret, "");
    const without = loginBody(sandbox, { SECRET_HASH: undefined });
    assertEquals((await send(sandbox, without)).status, 200);
    assertMatch(fault(await send(sandbox, loginBody(sandbox))), /Unable to verify secret hash/);
  },
);

sandboxTest(
  "sandbox.requests lists the requests to the token endpoint, without secrets",
  {},
  async ({ sandbox, clock }) => {
    const { RefreshToken } = await logIn(sandbox);
    clock.advance(5);
    await send(sandbox, refreshBody(sandbox, RefreshToken));
    await send(sandbox, refreshBody(sandbox, "unknown"));
    await send(sandbox, "PASSWORD=oops", { headers: { "x-vendor-target": `x.${RefreshToken}` } });
    await send(sandbox, { ...loginBody(sandbox), AuthFlow: sandbox.settings.password });
    const operation = "InitiateAuth";
    const start = new Date(clock.now() - 5000);
    const at = new Date(clock.now());
    assertEquals([...sandbox.requests], [
      { operation, authFlow: "USER_PASSWORD_AUTH", status: 200, at: start },
      { operation, authFlow: "REFRESH_TOKEN_AUTH", status: 200, at },
      { operation, authFlow: "REFRESH_TOKEN_AUTH", status: 400, at },
      { operation: "unknown", status: 400, at },
      { operation, status: 400, at },
    ]);
    const text = JSON.stringify(sandbox.requests);
    assert(!text.includes(sandbox.settings.password) && !text.includes(String(RefreshToken)));
  },
);
