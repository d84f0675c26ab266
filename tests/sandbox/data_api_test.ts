import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { fromArrayBuffer } from "geotiff";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { callApi, logIn, sandboxAt } from "./requests.ts";

Deno.test("API takes a good access token, whatever the case of the word bearer", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  for (const word of ["bearer", "Bearer", "BEARER"]) {
    const headers = { authorization: `${word} ${AccessToken}` };
    const response = await callApi(sandbox, "/v1/whoami", undefined, { headers });
    assertEquals([response.status, (await response.json()).username], [200, "student"]);
  }
});

Deno.test("API refuses everything else under /v1 with 401 and the reason", async () => {
  const { sandbox } = sandboxAt();
  const { sandbox: other } = sandboxAt({ words: "aws" });
  await using _ = sandbox;
  const { AccessToken, IdToken, RefreshToken } = await logIn(sandbox);
  const cases: [string | undefined, RegExp, RegExp][] = [
    [undefined, /missing/, /^Bearer realm=/],
    [String(AccessToken), /the word bearer and the access token/, /invalid_request/],
    [`Basic ${AccessToken}`, /the word bearer and the access token/, /invalid_request/],
    ["bearer", /the word bearer and the access token/, /invalid_request/],
    [`bearer bearer ${AccessToken}`, /says bearer twice/, /invalid_request/],
    [`bearer ${IdToken}`, /not the IdToken/, /invalid_token/],
    [`bearer ${RefreshToken}`, /not a signed token/, /invalid_token/],
    [`bearer ${AccessToken}x`, /signature|not a signed token/, /invalid_token/],
  ];
  for (const path of ["/v1/stations", "/v1/nothing-here", "/v1/admin/usage"]) {
    for (const [authorization, message, challenge] of cases) {
      const headers: HeadersInit = authorization === undefined ? {} : { authorization };
      const response = await callApi(sandbox, path, undefined, { headers });
      assertEquals(response.status, 401);
      assertMatch(response.headers.get("www-authenticate") ?? "", challenge);
      assertMatch((await response.json()).message, message);
    }
  }
  assertEquals((await callApi(other, "/health")).status, 200);
});

Deno.test("API refuses a token from the second at which it expires", async () => {
  const { sandbox, clock } = sandboxAt({ accessTokenSeconds: 60 });
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  clock.advance(59);
  assertEquals((await callApi(sandbox, "/v1/whoami", AccessToken)).status, 200);
  clock.advance(1);
  const response = await callApi(sandbox, "/v1/whoami", AccessToken);
  assertEquals(response.status, 401);
  assertEquals(
    response.headers.get("www-authenticate"),
    'Bearer error="invalid_token", error_description="The access token expired", ' +
      'realm="data-platform"',
  );
});

Deno.test("expireAccessTokens() turns away the tokens so far and no later ones", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const before = await logIn(sandbox);
  sandbox.expireAccessTokens();
  const after = await logIn(sandbox);
  assertEquals((await callApi(sandbox, "/v1/whoami", before.AccessToken)).status, 401);
  assertEquals((await callApi(sandbox, "/v1/whoami", after.AccessToken)).status, 200);
});

Deno.test("API answers 403 where the user may not read, and 404 where nothing is", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  assertEquals((await callApi(sandbox, "/v1/admin/usage", AccessToken)).status, 403);
  assertEquals((await callApi(sandbox, "/v1/nothing-here", AccessToken)).status, 404);
  const unknown = await callApi(sandbox, "/v1/stations/atlantis", AccessToken);
  assertEquals(unknown.status, 404);
  assertMatch((await unknown.json()).message, /known are gull-harbor/);
});

Deno.test("observations come in pages that link to the next", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  let path: string | null =
    "/v1/stations/oak-valley/observations?from=2025-03-01&to=2025-03-03&limit=20";
  const times: string[] = [];
  const sizes: number[] = [];
  while (path !== null) {
    const response: Response = await callApi(sandbox, path, AccessToken);
    const page = await response.json();
    assertEquals([page.station, page.total, page.pages], ["oak-valley", 48, 3]);
    assertEquals(response.headers.has("link"), page.next !== null);
    sizes.push(page.items.length);
    times.push(...page.items.map((item: { time: string }) => item.time));
    path = page.next;
  }
  assertEquals(sizes, [20, 20, 8]);
  assertEquals([times.at(0), times.at(-1)], ["2025-03-01T00:00:00Z", "2025-03-02T23:00:00Z"]);
  assertEquals(new Set(times).size, 48);
});

Deno.test("CSV holds the same rows as the JSON", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  const range = "?from=2025-07-01T06:00&to=2025-07-01T09:00:00Z";
  const json = await callApi(sandbox, `/v1/stations/snow-pass/observations${range}`, AccessToken);
  const csv = await callApi(
    sandbox,
    `/v1/stations/snow-pass/observations.csv${range}`,
    AccessToken,
  );
  assertEquals(csv.headers.get("content-type"), "text/csv; charset=utf-8");
  const [header = "", ...rows] = (await csv.text()).trimEnd().split("\n");
  const { items } = await json.json();
  assertEquals(header, Object.keys(items[0]).join(","));
  assertEquals(rows, items.map((item: object) => Object.values(item).join(",")));
  assertEquals(rows.length, 3);
});

const BAD_QUERIES: [string, string][] = [
  ["from=yesterday", '"from" must be a date such as'],
  ["from=2025-02-30", '"from" must be a date such as'],
  ["to=2025-13-01", '"to" must be a date such as'],
  ["to=", '"to" must be a date such as'],
  ["from=2025-06-02&to=2025-06-01", '"from" must be earlier than "to"'],
  ["from=2025-06-02&from=2025-06-03", '"from" is given more than once'],
  ["limit=0", '"limit" must be a whole number, 1 to 5000'],
  ["limit=5001", '"limit" must be a whole number, 1 to 5000'],
  ["limit=ten", '"limit" must be a whole number, 1 to 5000'],
  ["page=0", '"page" must be a whole number, 1 or more'],
  ["from=2025-06-01&to=2025-06-02&page=2", '"page" must be 1 to 1'],
  ["start=2025-06-01", 'Unknown parameter "start"; known are from, to, limit, page'],
];

for (const [query, message] of BAD_QUERIES) {
  Deno.test(`observations refuse ?${query} and say why`, async () => {
    const { sandbox } = sandboxAt();
    await using _ = sandbox;
    const { AccessToken } = await logIn(sandbox);
    const path = `/v1/stations/oak-valley/observations?${query}`;
    const response = await callApi(sandbox, path, AccessToken);
    assertEquals(response.status, 400);
    const said = (await response.json()).message;
    assertStringIncludes(said, message);
    assertMatch(said, /known are from, to, limit, page|Known parameters are from, to, limit, page/);
  });
}

Deno.test("the start page of the API tells the parameters of a query", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  const { paths, parameters } = await (await callApi(sandbox, "/", AccessToken)).json();
  assert(paths.includes("/v1/stations/{id}/observations"), paths);
  assertEquals(Object.keys(parameters), ["from", "to", "limit", "page"]);
  assertMatch(parameters.limit, /1 to 5000 \(default 1000\)/);
});

Deno.test("annotations echo a JSON body, uploads tell size and digest of any", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  const post = (path: string, body: BodyInit): Promise<Response> =>
    callApi(sandbox, path, AccessToken, { method: "POST", body });
  const response = await post("/v1/annotations", JSON.stringify({ note: "frost" }));
  assertEquals(response.status, 201);
  assertEquals(await response.json(), {
    id: "annotation-1",
    by: "student",
    annotation: { note: "frost" },
  });
  assertMatch((await (await post("/v1/annotations", "")).json()).message, /empty/);
  assertEquals((await post("/v1/annotations", "{")).status, 400);
  const upload = await (await post("/v1/uploads", new TextEncoder().encode("abc"))).json();
  assertEquals([upload.bytes, upload.sha256], [
    3,
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  ]);
});

Deno.test("download redirects to a signed URL that refuses a token and expires", async () => {
  const { sandbox, clock } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  const redirect = await callApi(sandbox, "/v1/stations/lake-meadow/download", AccessToken);
  const location = redirect.headers.get("location") ?? "";
  assertEquals(redirect.status, 302);
  assertEquals(new URL(location).origin, sandbox.portalUrl);
  const open = (url: string, headers: HeadersInit = {}): Promise<Response> =>
    sandbox.handle(new Request(url, { headers }));
  const file = await open(location);
  assertEquals([file.status, (await file.text()).split("\n").length], [200, 8762]);
  assertEquals((await open(location, { authorization: `bearer ${AccessToken}` })).status, 400);
  assertEquals((await open(location.replace("lake-meadow", "mill-plain"))).status, 403);
  assertEquals((await open(location.split("?")[0] ?? "")).status, 403);
  clock.advance(300);
  assertEquals((await open(location)).status, 403);
});

Deno.test("a file that is still the same is answered from where a download was", async () => {
  const { sandbox } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  const path = `${sandbox.apiUrl}/v1/stations/lake-meadow/observations.csv`;
  const ask = (headers: HeadersInit): Promise<Response> =>
    sandbox.handle(
      new Request(path, { headers: { ...headers, authorization: `bearer ${AccessToken}` } }),
    );
  const whole = await ask({});
  const text = await whole.text();
  const etag = whole.headers.get("etag") ?? "";
  assertEquals(whole.headers.get("content-length"), String(text.length));
  const rest = await ask({ range: "bytes=1000-", "if-range": etag });
  assertEquals([rest.status, await rest.text()], [206, text.slice(1000)]);
  const { length } = text;
  assertEquals(rest.headers.get("content-range"), `bytes 1000-${length - 1}/${length}`);
  const changed = await ask({ range: "bytes=1000-", "if-range": '"another"' });
  assertEquals([changed.status, await changed.text()], [200, text]);
  const beyond = await ask({ range: `bytes=${length}-`, "if-range": etag });
  assertEquals([beyond.status, beyond.headers.get("content-range")], [416, `bytes */${length}`]);
});

/** The answer for a file of the API, with these headers. */
async function fileAt(path: string): Promise<(headers?: HeadersInit) => Promise<Response>> {
  const { sandbox } = sandboxAt();
  const { AccessToken } = await logIn(sandbox);
  const authorization = `bearer ${AccessToken}`;
  return (headers = {}) =>
    sandbox.handle(
      new Request(`${sandbox.apiUrl}${path}`, { headers: { ...headers, authorization } }),
    );
}

for (const path of ["/v1/stations/oak-valley/observations.parquet", "/v1/maps/temperature.tif"]) {
  Deno.test(`${path} is read in parts, the same in every sandbox`, async () => {
    const [ask, other] = [await fileAt(path), await fileAt(path)];
    const whole = await ask();
    const bytes = new Uint8Array(await whole.arrayBuffer());
    assertEquals(whole.headers.get("accept-ranges"), "bytes");
    assertEquals((await other()).headers.get("etag"), whole.headers.get("etag"));
    const { length } = bytes;
    const parts: [string, number, number][] = [
      ["bytes=100-199", 100, 200],
      [`bytes=${length - 8}-`, length - 8, length],
      ["bytes=-8", length - 8, length],
      [`bytes=${length - 8}-${length + 50}`, length - 8, length],
    ];
    for (const [range, start, end] of parts) {
      const part = await ask({ range });
      assertEquals([part.status, part.headers.get("content-length")], [206, `${end - start}`]);
      assertEquals(part.headers.get("content-range"), `bytes ${start}-${end - 1}/${length}`);
      assertEquals(new Uint8Array(await part.arrayBuffer()), bytes.subarray(start, end));
    }
    for (const range of ["bytes=-", "bytes=9-3", "bytes=0-1,5-6", "rows=0-1"]) {
      const answer = await ask({ range });
      assertEquals([answer.status, (await answer.arrayBuffer()).byteLength], [200, length]);
    }
    for (const range of [`bytes=${length}-`, "bytes=-0"]) {
      const beyond = await ask({ range });
      assertEquals([beyond.status, beyond.headers.get("content-range")], [
        416,
        `bytes */${length}`,
      ]);
    }
  });
}

Deno.test("the Parquet file holds the rows of the CSV, a row group for each month", async () => {
  const parquet = await fileAt("/v1/stations/oak-valley/observations.parquet");
  const file = await (await parquet()).arrayBuffer();
  const { row_groups: groups, num_rows } = parquetMetadata(file);
  assertEquals([groups.length, num_rows], [12, 8760n]);
  const { max_value, min_value } = groups[6]?.columns[0]?.meta_data?.statistics ?? {};
  const july = [new Date("2025-07-01T00:00:00Z"), new Date("2025-07-31T23:00:00Z")];
  assertEquals([min_value, max_value], july);
  const rows = await parquetReadObjects({ file });
  const lines = rows.map(({ time, ...values }) =>
    [time.toISOString().replace(".000Z", "Z"), ...Object.values(values)].join(",")
  );
  const csv = await (await fileAt("/v1/stations/oak-valley/observations.csv"))();
  assertEquals(lines, (await csv.text()).trimEnd().split("\n").slice(1));
});

Deno.test("the map has a station's own mean at its place", async () => {
  const map = await fromArrayBuffer(
    await (await (await fileAt("/v1/maps/temperature.tif"))()).arrayBuffer(),
  );
  const image = await map.getImage();
  assertEquals(image.getBoundingBox(), [7.5, 46.5, 15.5, 54.5]);
  assertEquals(image.getGeoKeys()?.GeographicTypeGeoKey, 4326);
  const csv = await (await fileAt("/v1/stations/snow-pass/observations.csv"))();
  const values = (await csv.text()).trimEnd().split("\n").slice(1).map((line) =>
    Number(line.split(",")[1])
  );
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  // Snow Pass, 46.94 north and 11.43 east; 64 pixels are a degree.
  const [x, y] = [Math.floor((11.43 - 7.5) * 64), Math.floor((54.5 - 46.94) * 64)];
  const [pixel] = await image.readRasters({ window: [x, y, x + 1, y + 1], interleave: true });
  assertAlmostEquals(Number(pixel), mean, 0.1);
});

Deno.test("apiRequests lists the calls without query and token", async () => {
  const { sandbox, clock } = sandboxAt();
  await using _ = sandbox;
  const { AccessToken } = await logIn(sandbox);
  await callApi(sandbox, "/v1/stations?token=secret");
  await callApi(sandbox, "/v1/admin/usage", AccessToken);
  const at = new Date(clock.now());
  assertEquals([...sandbox.apiRequests], [
    { method: "GET", path: "/v1/stations", status: 401, authorized: false, at },
    { method: "GET", path: "/v1/admin/usage", status: 403, authorized: true, at },
  ]);
  assert(!JSON.stringify(sandbox.apiRequests).includes("secret"));
});
