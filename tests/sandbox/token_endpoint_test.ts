import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  awsHeaders,
  type Body,
  logIn,
  loginBody,
  outcome,
  refreshBody,
  sandboxTest,
  send,
  vendorHeaders,
} from "./requests.ts";

sandboxTest(
  "the token endpoint responds to a login as section 2.2 of the API document shows",
  { accessTokenSeconds: 600 },
  async ({ sandbox }) => {
    const { status, headers, body, result } = await send(sandbox, loginBody(sandbox));
    assertEquals(status, 200);
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
  },
);

const ENVELOPE_FAULTS: [
  expected: RegExp,
  headers: Record<string, string>,
  body?: string,
][] = [
  [/^400 UnknownOperationException/, vendorHeaders("toString")],
  [
    /^400 SerializationException: Content-Type must be exactly application\/x-vendor-json-1.1/,
    { "content-type": "application/json" },
  ],
  [/^400 SerializationException/, {}, '{"AuthFlow":'],
];

sandboxTest("the token endpoint refuses a request in another format", {}, async ({ sandbox }) => {
  for (const [expected, headers, body] of ENVELOPE_FAULTS) {
    const answer = await send(sandbox, body ?? loginBody(sandbox), {
      headers: { ...vendorHeaders(), ...headers },
    });
    assertMatch(outcome(answer), expected);
    assertEquals(answer.headers.get("x-amzn-errortype"), `${answer.body.__type}:`);
  }
});

const CLIENT = "sandboxclient0000000000001";
const INVALID = "InvalidParameterException:";
const REFUSED = "NotAuthorizedException:";
const NO_HASH = `Client ${CLIENT} is configured with secret but SECRET_HASH was not received`;
const NO_CLIENT = "ResourceNotFoundException: User pool client other does not exist.";

const BODY_FAULTS: [fields: Body, parameters: Body, expected: string][] = [
  [{ ClientId: "other" }, {}, NO_CLIENT],
  [{ AuthFlow: "USER_SRP_AUTH" }, {}, `${INVALID} USER_SRP_AUTH flow not enabled for this client`],
  [{}, { PASSWORD: "" }, `${INVALID} Missing required parameter PASSWORD`],
  [{}, { SECRET_HASH: undefined }, `${REFUSED} ${NO_HASH}`],
  [{}, { SECRET_HASH: "AAAA" }, `${REFUSED} Unable to verify secret hash for client ${CLIENT}`],
  [{}, { PASSWORD: "x" }, `${REFUSED} Incorrect username or password.`],
];

sandboxTest("the token endpoint refuses a login and says why", {}, async ({ sandbox }) => {
  for (const [fields, parameters, expected] of BODY_FAULTS) {
    const answer = await send(sandbox, { ...loginBody(sandbox, parameters), ...fields });
    assertEquals(outcome(answer), `400 ${expected}`);
  }
});

sandboxTest(
  'with words: "aws", the token endpoint accepts only the protocol names of AWS and needs no user pool',
  { words: "aws" },
  async ({ sandbox }) => {
    assertEquals(sandbox.settings.provider, "aws");
    const headers = awsHeaders();
    const body = { ...loginBody(sandbox), UserPoolId: undefined };
    const { status, headers: answered } = await send(sandbox, body, { headers });
    assertEquals([status, answered.get("content-type")], [200, "application/x-amz-json-1.1"]);
    assertEquals((await send(sandbox, loginBody(sandbox))).status, 400);
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
