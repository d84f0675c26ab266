import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ApiError, FetchJsonInit } from "../../mod.ts";
import { rejection, signedIn } from "../support/portless.ts";
import { repeatedPart } from "../support/canaries.ts";

/** The error of a call if the API returns this response. */
async function failure(response: () => Response): Promise<ApiError> {
  await using world = await signedIn({ api: response });
  return await rejection(world.session.fetchJson("/v1/stations?day=1")) as ApiError;
}

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => () =>
  typeof body === "string"
    ? new Response(status === 204 ? null : body, { status, headers })
    : Response.json(body, { status, headers });

Deno.test("fetchJson() requests JSON unless the caller sets an accept header", async () => {
  await using world = await signedIn({
    api: ({ headers }) => Response.json([headers.get("accept")]),
  });
  const accept = "application/geo+json";
  assertEquals(await world.session.fetchJson("/v1/x"), ["application/json"]);
  assertEquals(await world.session.fetchJson("/v1/x", { headers: { accept } }), [accept]);
});

Deno.test("an ApiError describes the response and the request, without the query", async () => {
  const body = { error: "not_found", message: "There is no station 7." };
  const error = await failure(answer(404, body, { "x-request-id": "r-1" }));
  const { name, code, status, method, requestId, retryAfterSeconds } = error;
  assertEquals([name, code, status, method], ["ApiError", "API_STATUS", 404, "GET"]);
  assertEquals([requestId, retryAfterSeconds], ["r-1", undefined]);
  assertMatch(error.url, /^https:\/\/[^?]+\/v1\/stations$/);
  assertMatch(
    error.message,
    /^Cannot GET https:\S+\/v1\/stations because the API responded with 404 \(There is no station 7\); check the path \(/,
  );
});

const words: [string, () => Response, RegExp][] = [
  [
    "a nested sentence next to an empty message",
    answer(400, { message: "", error: { Message: "", title: "Größe 7 € fehlt" } }),
    /400 \(Größe 7 € fehlt\); check the/,
  ],
  ["a list of errors", answer(400, { errors: [{ detail: "Bad day" }] }), /400 \(Bad day\)/],
  ["problem+json", answer(409, { title: "Conflict", detail: "In use" }), /409 \(In use\)/],
  [
    "the XML of a file store",
    answer(403, "<Error><Message>Expired</Message></Error>"),
    /403 \(<Error>.*Expired.*\)/,
  ],
  ["plain text", answer(500, "out of order"), /500 \(out of order\); try again in a few minutes/],
  [
    "the list of FastAPI, with the place of each mistake",
    answer(422, {
      detail: [
        { loc: ["query", "limit"], msg: "Input should be a valid integer", type: "int_parsing" },
        { loc: ["body", {}, "days", 0], msg: "Field required" },
      ],
    }),
    /422 \(query\.limit: Input should be a valid integer; body\.days\.0: Field required\)/,
  ],
  ["a description", answer(400, { code: 7, description: "No such day" }), /400 \(No such day\)/],
  ["a msg", answer(400, { msg: "No such day" }), /400 \(No such day\)/],
  [
    "a nested message",
    answer(400, { message: { code: 7, message: "No such day" } }),
    /400 \(No such day\)/,
  ],
  [
    "JSON nested too deep for the stack",
    answer(400, "[".repeat(3e4) + "]".repeat(3e4)),
    /400 \(\[\[/,
  ],
  [
    "omitted if it is in another charset",
    () => new Response(latin1, { status: 400 }),
    /responded with 400; check/,
  ],
  ["omitted if it is a binary file", answer(400, "PAR1\0\x01"), /responded with 400; check/],
  [
    "a page without its title, which is not UTF-8",
    () => new Response(latin1Page, { status: 400 }),
    /responded with 400 \(an HTML page\); check/,
  ],
  ["text that is cut off within a character", answer(400, "€".repeat(30_000)), /400 \(€+…\)/],
  [
    "the text of a 401",
    answer(401, "no"),
    /401 \(no\); run login\(\{ force: true \}\), then try again/,
  ],
  [
    "the title of a page",
    answer(502, "<html><title>Bad gateway</title>"),
    /502 \(an HTML page with the title "Bad gateway"\)/,
  ],
];
for (const [what, response, message] of words) {
  Deno.test(`an ApiError quotes the API's message: ${what}`, async () => {
    assertMatch((await failure(response)).message, message);
  });
}

const bodies: [string, () => Response, RegExp][] = [
  [
    "a login page",
    answer(200, '<!doctype html><title>Sign in</title><input type="password">'),
    /\(status 200\): it is an HTML page with the title "Sign in", not JSON; .*API_BASE_URL/,
  ],
  [
    "CSV",
    answer(200, "a;b\n1;2\n", { "content-type": "text/csv" }),
    /content type text\/csv and begins with "a;b.*; save it with download\(\), or read it/,
  ],
  [
    "NaN, which Python writes for a missing number",
    answer(200, '[{"a":NaN}]'),
    /it is not JSON, has the content type \S+ and begins with "\[\{"a":NaN\}\]"; .*text\(\)/,
  ],
  [
    "a binary file",
    answer(200, "PAR1\u0000"),
    /it is not JSON, .* and is binary data; save it with download\(\), or read it/,
  ],
];
for (const [what, response, message] of bodies) {
  Deno.test(`fetchJson() rejects a body that is not JSON: ${what}`, async () => {
    const error = await failure(response);
    assertEquals(error.code, "API_BODY");
    assertMatch(error.message, message);
  });
}

const fixes: [what: string, response: () => Response, fix: RegExp, input?: string][] = [
  [
    "an unknown path of AWS API Gateway",
    answer(403, { message: "Missing Authentication Token" }),
    /^check the path$/,
  ],
  [
    "an unknown path of AWS API Gateway, reported only in a header",
    answer(403, "", { "x-amzn-errortype": "MissingAuthenticationTokenException" }),
    /^check the path$/,
  ],
  [
    "an unknown path of AWS API Gateway that replaces the path of API_BASE_URL",
    answer(403, { message: "Missing Authentication Token" }),
    /it replaces the path \/prod\/ of API_BASE_URL/,
    "/stations",
  ],
  [
    "another 403",
    answer(403, { message: "Forbidden" }),
    /for this permission; another login does not help$/,
  ],
  ["a 431", answer(431, ""), /^send fewer or shorter headers/],
  [
    "a 400 of nginx for headers that are too large",
    answer(400, "<html><title>400 Request Header Or Cookie Too Large</title>"),
    /^send fewer or shorter headers/,
  ],
];
for (const [what, response, fix, input = "stations"] of fixes) {
  Deno.test(`an ApiError says what to do about ${what}`, async () => {
    const session = { apiBaseUrl: "https://api.example/prod" };
    await using world = await signedIn({ session, api: response });
    const error = await rejection(world.session.fetchJson(input)) as ApiError;
    assertEquals(error.code, "API_STATUS");
    assertMatch(error.fix, fix);
  });
}

const json = { "content-type": "application/json" };
Deno.test("fetchJson() resolves to undefined for a response without a body", async () => {
  const empty: [string, () => Response][] = [
    ["DELETE", answer(204, "")],
    ["HEAD", () => new Response(null, { headers: { ...json, "content-length": "9" } })],
    ["GET", answer(200, "", json)],
    ["PUT", answer(201, "", { "content-type": "a; charset=x" })],
  ];
  for (const [method, response] of empty) {
    await using world = await signedIn({ api: response });
    assertEquals(await world.session.fetchJson("/v1/x", { method }), undefined);
  }
});

/** A response whose body is these bytes. */
const bytesIn = (type: string, bytes: Uint8Array<ArrayBuffer>) => () =>
  new Response(bytes, { headers: { "content-type": type } });
const utf16 = new Uint8Array(Uint16Array.from('{"a":"ü€"}', (char) => char.charCodeAt(0)).buffer);
const latin1Of = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const latin1 = latin1Of('{"a":"\xfc"}');
const latin1Page = latin1Of("<html><title>Zur\xfcck</title>");

Deno.test("fetchJson() decodes a body in the charset that the response declares", async () => {
  const given: [() => Response, string][] = [
    [bytesIn("application/json;charset=ISO-8859-1", latin1), "ü"],
    [bytesIn('application/json; Charset="windows-1252"', latin1), "ü"],
    [bytesIn("application/json; charset=utf-16le", utf16), "ü€"],
    [bytesIn("application/json; charset=iso-8859-1, application/json", latin1), "ü"],
    [bytesIn("application/json, application/json;charset=utf-16le", utf16), "ü€"],
  ];
  for (const [response, a] of given) {
    await using world = await signedIn({ api: response });
    assertEquals(await world.session.fetchJson("/v1/x"), { a });
  }
});

Deno.test("the error for a body that cannot be decoded contains the charset", async () => {
  const wrong: [string, Uint8Array<ArrayBuffer>, string][] = [
    ["application/json", latin1, "utf-8"],
    ["application/json; charset=klingon-7", new TextEncoder().encode('{"a":1}'), "klingon-7"],
  ];
  for (const [type, bytes, charset] of wrong) {
    const { code, body, problem } = await failure(bytesIn(type, bytes));
    assertEquals([code, body], ["API_BODY", undefined], type);
    assert(problem.includes(charset), problem);
  }
});

Deno.test("ApiError.body contains up to 64 KiB of the response", async () => {
  const list = { errors: [{ field: "day", message: "bad" }] };
  const bodies: [number, unknown, unknown][] = [
    [422, list, list],
    [422, "", undefined],
    [422, "x".repeat(70_000), "x".repeat(65_536)],
    [200, "a,b\n1,2", "a,b\n1,2"],
  ];
  for (const [status, sent, body] of bodies) {
    assertEquals((await failure(answer(status, sent))).body, body);
  }
});

const repeated: [what: string, echo: (token: string) => string, body: unknown][] = [
  [
    "in a JSON value",
    (token) => JSON.stringify({ error: "bad day", seen: `bearer ${token}`, days: [1, null] }),
    { error: "bad day", seen: "bearer [secret]", days: [1, null] },
  ],
  ["in a JSON name", (token) => JSON.stringify({ [token]: [token] }), { "[secret]": ["[secret]"] }],
  [
    "with escaped characters",
    (token) => `["\\u${token.charCodeAt(0).toString(16).padStart(4, "0")}${token.slice(1)}"]`,
    ["[secret]"],
  ],
  ["as a JSON number", () => '{"sig":1234567890}', '{"sig":[secret]}'],
  ["in plain text", (token) => `no such\nday: ${token}\n`, "no such\nday: [secret]"],
  ["from a header or the query", () => "key-of-the-user, sig 1234567890", "[secret], sig [secret]"],
  [
    "at the end of the first 64 KiB",
    (token) => "x".repeat(65_500) + token,
    "x".repeat(65_500) + "[secret]",
  ],
  ["in base64", (token) => JSON.stringify(["bad day", `Basic ${btoa(token)}`]), [
    "bad day",
    "Basic [secret]",
  ]],
];
for (const [what, echo, body] of repeated) {
  Deno.test(`ApiError.body hides a secret that the response repeats ${what}`, async () => {
    let token = "";
    await using world = await signedIn({
      api: ({ headers }) => {
        token = headers.get("authorization")?.replace("bearer ", "") ?? "";
        const type = { "content-type": "text/plain" };
        return new Response(echo(token), { status: 422, headers: type });
      },
    });
    const headers = { "x-api-key": "key-of-the-user" };
    const call = world.session.fetchJson("/v1/x?sig=1234567890", { headers });
    const error = await rejection(call) as ApiError;
    assertEquals(error.body, body);
    assertEquals(repeatedPart(JSON.stringify(error.body), [token]), undefined);
  });
}

/** Each response in turn, then the last one repeatedly. */
const inTurn = (answers: (() => Response)[], count: number) =>
  (answers[count - 1] ?? answers.at(-1) ?? Response.error)();
const wait = { "retry-after": "10" };
const retried: [string, (() => Response)[], FetchJsonInit | undefined, number, number][] = [
  [
    "retries until the API responds with 200",
    [answer(429), answer(429), answer(200)],
    {},
    3,
    200,
  ],
  ["retries three times by default", [answer(429)], {}, 4, 429],
  ["retries once with retries: 1", [answer(429)], { retries: 1 }, 2, 429],
  ["does not retry with retries: 0", [answer(429)], { retries: 0 }, 1, 429],
  [
    "does not retry if Retry-After exceeds retryWithinMs",
    [answer(429, {}, wait)],
    { retryWithinMs: 9_999 },
    1,
    429,
  ],
  ["does not retry a POST", [answer(503)], { method: "POST", body: "x" }, 1, 503],
  ["does not retry after a 502", [answer(502)], {}, 1, 502],
];
for (const [what, answers, init, wanted, status] of retried) {
  Deno.test(`fetchJson() ${what}`, async () => {
    await using world = await signedIn({ api: (_, count) => inTurn(answers, count) });
    const call = world.session.fetchJson("/v1/x", init);
    if (status === 200) await call;
    else {
      const error = await rejection(call) as ApiError;
      assertEquals(error.status, status);
      assertEquals(error.message.includes(`after ${wanted} attempts`), wanted > 1);
    }
    assertEquals(world.called.length, wanted);
  });
}

Deno.test("fetchJson() waits as long as a 503 asks with Retry-After, up to a minute", async () => {
  const answers = [answer(503, {}, wait), answer(200), answer(503, {}, { "retry-after": "120" })];
  await using world = await signedIn({ api: (_, count) => inTurn(answers, count) });
  await world.session.fetchJson("/v1/x");
  const [pause = 0, ...others] = world.pauses;
  assert(pause >= 10_000 && others.length === 0, `${world.pauses}`);
  const error = await rejection(world.session.fetchJson("/v1/x")) as ApiError;
  assertEquals([world.called.length, error.retryAfterSeconds], [3, 120]);
  assertMatch(error.message, /wait 120 seconds, as the API asks, then try again/);
});

Deno.test("fetchJson() describes a page with a million unclosed tags without delay", async () => {
  // If the time grew with the square of the length, this would take hours.
  const { message } = await failure(answer(200, `<html>${"<title".repeat(1_000_000)}`));
  assertMatch(message, /it is an HTML page, not JSON/);
});

Deno.test("the name of the host does not affect the reason of a network error", async () => {
  const apiBaseUrl = "https://ssl-proxy.example";
  await using world = await signedIn({
    session: { apiBaseUrl },
    api: ({ url }) => {
      throw new TypeError(
        `error sending request for url (${url}): tcp connect error: os error 110`,
      );
    },
  });
  const { code, message } = await rejection(world.session.fetchJson("/v1/x"));
  assertEquals(code, "API_UNREACHABLE");
  assertMatch(message, /\(the request failed\)/);
});

Deno.test("fetchJson() rejects a response that is cut off", async () => {
  const cut = () =>
    new Response(new ReadableStream({ start: (it) => it.error(new TypeError("broke")) }));
  assertMatch((await failure(cut)).message, /status 200\): it broke off; try again/);
});

Deno.test("fetchJson() passes the options that it does not know to fetch", async () => {
  let given: RequestInit | undefined;
  await using world = await signedIn({ api: () => Response.json(1) });
  const { fetch = globalThis.fetch } = world.options;
  const other = world.another({
    fetch: (input, init) => {
      given = init;
      return fetch(input, init);
    },
  });
  await other.login();
  await other.fetchJson("/x", { mode: "cors", cache: "no-store", ...{ newOption: 1 } });
  const { mode, cache, newOption } = { newOption: 0, ...given };
  assertEquals([mode, cache, newOption], ["cors", "no-store", 1]);
});

Deno.test("fetchJson() rejects a wrong argument", async () => {
  await using world = await signedIn();
  const loose = world.session.fetchJson as (...values: unknown[]) => Promise<unknown>;
  const wrong: [unknown[], RegExp][] = [
    [[5], /must be a string, a URL or a Request, not number/],
    [["/x", new Headers()], /must be a plain object/],
    [["/x", { retries: -1 }], /zero or more/],
    [["/x", { idleTimeoutMs: NaN }], /idleTimeoutMs must be zero or more milliseconds/],
  ];
  for (const [values, message] of wrong) {
    const error = await rejection(loose(...values));
    assertEquals(error.name, "TypeError", `${error}`);
    assertMatch(error.message, message);
  }
  assertEquals(world.called, []);
});
