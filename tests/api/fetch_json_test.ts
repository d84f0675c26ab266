import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ApiError, FetchJsonInit } from "../../mod.ts";
import { rejection, signedIn } from "../support/portless.ts";

/** The error of a call if the API returns this response. */
async function failure(response: () => Response): Promise<ApiError> {
  await using world = await signedIn({ api: response });
  return await rejection(world.session.fetchJson("/v1/stations?day=1")) as ApiError;
}

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) => () =>
  typeof body === "string" || body instanceof Uint8Array
    ? new Response(status === 204 ? null : body as BodyInit, { status, headers })
    : Response.json(body, { status, headers });

Deno.test("fetchJson() requests JSON unless the caller sets an accept header", async () => {
  await using world = await signedIn({
    api: ({ headers }) => Response.json([headers.get("accept")]),
  });
  const { session: { fetchJson } } = world;
  const own = { headers: { accept: "application/geo+json" } };
  assertEquals(await fetchJson("/v1/x"), ["application/json"]);
  assertEquals(await fetchJson("/v1/x", own), ["application/geo+json"]);
  const request = new Request("https://api.sandbox.example/v1/x", own);
  assertEquals(await fetchJson(request), ["application/geo+json"]);
});

Deno.test("an ApiError describes the response and the request, without the query", async () => {
  const body = { error: "not_found", message: "There is no station 7." };
  const error = await failure(answer(404, body, { "x-request-id": "r-1" }));
  const { name, code, status, method, requestId, url } = error;
  assertEquals([name, code, status, method], ["ApiError", "API_STATUS", 404, "GET"]);
  assertEquals([requestId, url], ["r-1", "https://api.sandbox.example/v1/stations"]);
  assertMatch(error.message, /404 \(There is no station 7\); check the path \(/);
});

const MESSAGES = [
  { errors: [{ detail: "No such day" }] },
  { title: "Conflict", detail: "No such day" },
  { message: "", error: { Message: "", title: "No such day" } },
];
Deno.test("an ApiError quotes the message, whatever its name in the JSON of the API is", async () => {
  for (const body of MESSAGES) {
    assertMatch((await failure(answer(400, body))).message, /400 \(No such day\); check the/);
  }
});

const PLACES = [
  { loc: ["query", "limit"], msg: "Input should be a valid integer", type: "int_parsing" },
  { loc: ["body", {}, "days", 0], msg: "Field required" },
];
const LATIN1 = Uint8Array.from('{"a":"\xfc"}', (char) => char.charCodeAt(0));
const PAGE = "<html><title>Bad gateway</title>";

const quoted: [what: string, status: number, body: unknown, message: RegExp][] = [
  ["the XML of a file store", 403, "<Error><Message>Old</Message></Error>", /403 \(<Error>.*Old/],
  ["plain text", 500, "out of order", /500 \(out of order\); try again in a few minutes/],
  [
    "the list of FastAPI, with the place of each mistake",
    422,
    { detail: PLACES },
    /422 \(query\.limit: Input should be a valid integer; body\.days\.0: Field required\)/,
  ],
  ["not if it is a binary file", 400, "PAR1\0\x01", /responded with 400; check/],
  ["the text of a 401", 401, "no", /401 \(no\); run login\(\{ force: true \}\), then try again/],
  ["the title of a page", 502, PAGE, /502 \(an HTML page with the title "Bad gateway"\)/],
];
for (const [what, status, body, message] of quoted) {
  Deno.test(`an ApiError quotes the API's message: ${what}`, async () => {
    assertMatch((await failure(answer(status, body))).message, message);
  });
}

const SIGN_IN = '<!doctype html><title>Sign in</title><input type="password">';
const bodies: [what: string, type: string, body: unknown, message: RegExp][] = [
  [
    "a login page",
    "text/html",
    SIGN_IN,
    /\(status 200\): it is an HTML page with the title "Sign in", not JSON; .*API_BASE_URL/,
  ],
  [
    "a page with a million unclosed tags, without delay",
    "text/html",
    `<html>${"<title".repeat(1_000_000)}`,
    /it is an HTML page, not JSON/,
  ],
  ["CSV", "text/csv", "a;b\n1;2\n", /begins with "a;b.*; save it with download\(\), or read it/],
  [
    "NaN, which Python writes for a missing number",
    "application/json",
    '[{"a":NaN}]',
    /it is not JSON, has the content type \S+ and begins with "\[\{"a":NaN\}\]"; .*text\(\)/,
  ],
  ["text that is not UTF-8", "application/json", LATIN1, /not text in the charset utf-8; save it/],
  ["a binary file", "application/json", "PAR1\0", /is binary data; save it with download\(\)/],
];
for (const [what, type, body, message] of bodies) {
  Deno.test(`fetchJson() rejects a body that is not JSON: ${what}`, async () => {
    const error = await failure(answer(200, body, { "content-type": type }));
    assertEquals([error.code, `${error.body}`.includes("\ufffd")], ["API_BODY", false]);
    assertMatch(error.message, message);
  });
}

const UNKNOWN_PATH = { message: "Missing Authentication Token" };
const FORBIDDEN = { message: "Forbidden" };
const TOO_LARGE = "<html><title>400 Request Header Or Cookie Too Large</title>";
const fixes: [what: string, input: string, response: () => Response, fix: RegExp][] = [
  ["an unknown path of AWS API Gateway", "x", answer(403, UNKNOWN_PATH), /^check the path$/],
  [
    "a path that replaces the path of API_BASE_URL",
    "/x",
    answer(403, UNKNOWN_PATH),
    /it replaces the path \/prod\/ of API_BASE_URL/,
  ],
  ["another 403", "x", answer(403, FORBIDDEN), /this permission; another login does not help$/],
  ["headers that are too large", "x", answer(400, TOO_LARGE), /^send fewer or shorter headers/],
];
for (const [what, input, response, fix] of fixes) {
  Deno.test(`an ApiError says what to do about ${what}`, async () => {
    const session = { apiBaseUrl: "https://api.example/prod" };
    await using world = await signedIn({ session, api: response });
    assertMatch((await rejection(world.session.fetchJson(input)) as ApiError).fix, fix);
  });
}

Deno.test("fetchJson() resolves to undefined for a response without a body", async () => {
  const empty: [string, () => Response][] = [
    ["DELETE", answer(204, "")],
    ["HEAD", () => new Response(null, { headers: { "content-length": "9" } })],
    ["GET", answer(200, "", { "content-type": "application/json" })],
  ];
  for (const [method, response] of empty) {
    await using world = await signedIn({ api: response });
    assertEquals(await world.session.fetchJson("/v1/x", { method }), undefined);
  }
});

Deno.test("fetchJson() reads a body of one character", async () => {
  await using world = await signedIn({ api: answer(200, "7") });
  assertEquals(await world.session.fetchJson("/v1/x"), 7);
});

Deno.test("fetchJson() decodes a body in the charset of its content type", async () => {
  for (const charset of ["charset=ISO-8859-1", 'Charset="windows-1252"']) {
    const type = { "content-type": `application/json;${charset}` };
    await using world = await signedIn({ api: answer(200, LATIN1, type) });
    assertEquals(await world.session.fetchJson("/v1/x"), { a: "ü" });
  }
});

Deno.test("ApiError.body contains up to 64 KiB of the response", async () => {
  const list = { errors: [{ field: "day", message: "bad" }] };
  assertEquals((await failure(answer(422, list))).body, list);
  let isCanceled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("x".repeat(40_000))),
    cancel: () => void (isCanceled = true),
  });
  const { body } = await failure(() => new Response(endless, { status: 422 }));
  assertEquals([body, isCanceled], ["x".repeat(65_536), true]);
});

const FILLED = "x".repeat(65_500);
const repeated: [what: string, echo: (token: string) => string, body: unknown][] = [
  [
    "in JSON",
    (token) => JSON.stringify({ error: "bad day", seen: `bearer ${token}`, days: [1, null] }),
    { error: "bad day", seen: "bearer [secret]", days: [1, null] },
  ],
  [
    "with escaped characters",
    (token) => `["\\u${token.charCodeAt(0).toString(16).padStart(4, "0")}${token.slice(1)}"]`,
    ["[secret]"],
  ],
  ["from a header or the query", () => "key-of-the-user, sig 12345678", "[secret], sig [secret]"],
  ["at the end of the first 64 KiB", (token) => FILLED + token, `${FILLED}[secret]`],
];
for (const [what, echo, body] of repeated) {
  Deno.test(`ApiError.body hides a secret that the response repeats ${what}`, async () => {
    await using world = await signedIn({
      api: ({ headers }) => {
        const token = headers.get("authorization")?.replace("bearer ", "") ?? "";
        return new Response(echo(token), { status: 422 });
      },
    });
    const headers = { "x-api-key": "key-of-the-user" };
    const call = world.session.fetchJson("/v1/x?sig=12345678", { headers });
    assertEquals((await rejection(call) as ApiError).body, body);
  });
}

const retried: [what: string, status: number, init: FetchJsonInit, requests: number][] = [
  ["three times by default", 429, {}, 4],
  ["never with retries: 0", 429, { retries: 0 }, 1],
  ["never if the API asks to wait longer than retryWithinMs", 429, { retryWithinMs: 9_999 }, 1],
  ["never for a POST", 503, { method: "POST", body: "x" }, 1],
];
for (const [what, status, init, requests] of retried) {
  Deno.test(`fetchJson() retries ${what}`, async () => {
    const headers = { "retry-after": "10" };
    await using world = await signedIn({ api: answer(status, "", headers) });
    assertEquals((await rejection(world.session.fetchJson("/v1/x", init))).code, "API_STATUS");
    assertEquals(world.called.length, requests);
  });
}

Deno.test("fetchJson() waits as long as a 503 asks with Retry-After, up to a minute", async () => {
  const waits = ["10", undefined, "120"];
  await using world = await signedIn({
    api(_, count) {
      const seconds = waits[count - 1];
      return seconds ? answer(503, "", { "retry-after": seconds })() : Response.json(1);
    },
  });
  await world.session.fetchJson("/v1/x");
  const [pause = 0, ...others] = world.pauses;
  assert(pause >= 10_000 && others.length === 0, `${world.pauses}`);
  const error = await rejection(world.session.fetchJson("/v1/x")) as ApiError;
  assertEquals([world.called.length, error.retryAfterSeconds], [3, 120]);
  assertMatch(error.message, /wait 120 seconds, as the API asks, then try again/);
});

Deno.test("fetchJson() rejects a response that is cut off", async () => {
  const cut = () =>
    new Response(new ReadableStream({ start: (it) => it.error(new TypeError("broke")) }));
  assertMatch((await failure(cut)).message, /status 200\): it broke off; try again/);
});

Deno.test("fetchJson() passes the options that it does not know to fetch", async () => {
  let given: RequestInit & { newOption?: number } = {};
  await using world = await signedIn();
  const session = world.another({
    fetch: (_, init) => {
      given = { ...init };
      return Promise.resolve(Response.json(1));
    },
  });
  await session.login({ portalToken: await world.sandbox.portalToken() });
  await session.fetchJson("/x", { cache: "no-store", ...{ newOption: 1 } });
  assertEquals([given.cache, given.newOption], ["no-store", 1]);
});

Deno.test("fetchJson() rejects a wrong argument", async () => {
  await using world = await signedIn();
  const loose = world.session.fetchJson as (...values: unknown[]) => Promise<unknown>;
  const wrong: [unknown[], RegExp][] = [
    [[5], /must be a string, a URL or a Request, not number/],
    [["/x", { retries: "1" }], /takes number as "retries"/],
    [["/x", { idleTimeoutMs: NaN }], /idleTimeoutMs must be zero or more milliseconds/],
  ];
  for (const [values, message] of wrong) {
    const error = await rejection(loose(...values));
    assertEquals(error.name, "TypeError", `${error}`);
    assertMatch(error.message, message);
  }
  assertEquals(world.called, []);
});
