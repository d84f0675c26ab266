/**
 * The data platform API of the sandbox: its routes, its made-up weather and its downloads. It may
 * import the identity provider, which checks its tokens, and what the provider may import; never the
 * portal.
 *
 * @module
 */
import { Hono, type MiddlewareHandler } from "npm:hono@^4";
import type { Downloads } from "./downloads.ts";
import { fileAnswer, type FileContent } from "./files.ts";
import { type Failure, pause, takeFailure, withFailure } from "../failures.ts";
import {
  observationPage,
  observationParquet,
  observationText,
  PARAMETERS,
  QueryError,
} from "./observations.ts";
import type { SandboxConfig } from "../options.ts";
import { addRecord, type ApiRequest } from "../records.ts";
import { type AccessClaims, type TokenIssuer, TokenRefused } from "../identity_provider/tokens.ts";
import { temperatureMap } from "./temperature_map.ts";
import { type Station, STATIONS } from "./weather.ts";

/** Name of the platform that the sandbox imitates. */
export const PLATFORM_NAME = "Weather Data Platform";

/** Data sets to list in the portal. */
export const DATASETS: { name: string; description: string; path: string }[] = [
  {
    name: "Stations",
    description: "Six weather stations: place, position and elevation.",
    path: "/v1/stations",
  },
  {
    name: "Hourly observations",
    description: "Temperature, rain, wind and pressure of 2025, hour by hour, in pages.",
    path: "/v1/stations/gull-harbor/observations",
  },
  {
    name: "Observations as CSV",
    description: "The same rows as one text file for a table program or a data frame.",
    path: "/v1/stations/gull-harbor/observations.csv",
  },
  {
    name: "Observations as Parquet",
    description: "A row group for each month: read a column of a month and leave the rest.",
    path: "/v1/stations/gull-harbor/observations.parquet",
  },
  {
    name: "Temperature map",
    description: "The mean of 2025 between the stations, a GeoTIFF in tiles.",
    path: "/v1/maps/temperature.tif",
  },
];

/** What the API needs. */
export interface DataApiParts {
  readonly config: SandboxConfig;
  readonly tokens: TokenIssuer;
  readonly downloads: Downloads;
  readonly failures: Failure[];
  readonly requests: ApiRequest[];
}

interface Env {
  Variables: { claims: AccessClaims; record: ApiRequest };
  Bindings: { record: ApiRequest };
}

/** The data platform API as a function. All of `/v1` needs an access token (section 5.1). */
export function createDataApi(
  parts: DataApiParts,
): (request: Request, signal: AbortSignal) => Promise<Response> {
  const app = createRoutes(parts);
  return async (request, signal) => {
    const record: ApiRequest = {
      method: request.method,
      path: new URL(request.url).pathname,
      status: 0,
      authorized: false,
      at: new Date(parts.config.now()),
    };
    addRecord(parts.requests, record);
    const failure = takeFailure(parts.failures, "api");
    await pause(parts.config.latencyMs, signal);
    const answer = await withFailure(failure, signal, async () => {
      const own = await app.fetch(request, { record });
      record.status = own.status;
      return own;
    });
    record.status = answer.status;
    return answer;
  };
}

function createRoutes({ tokens, downloads }: DataApiParts): Hono<Env> {
  const app = new Hono<Env>();
  let annotations = 0;
  let uploads = 0;
  // A reader of parts asks for the same file many times.
  const files = new Map<string, FileContent>();
  const made = (name: string, make: () => FileContent): FileContent => {
    const file = files.get(name) ?? make();
    files.set(name, file);
    return file;
  };

  app.get("/health", (context) => context.json({ status: "ok" }));

  const authorize: MiddlewareHandler<Env> = async (context, next) => {
    const token = bearerToken(context.req.header("authorization"));
    if (!("value" in token)) return unauthorized(token.problem, token.code);
    try {
      context.set("claims", await tokens.verify(token.value));
    } catch (error) {
      if (error instanceof TokenRefused) return unauthorized(error.message, "invalid_token");
      throw error;
    }
    context.env.record.authorized = true;
    return await next();
  };
  app.use("/", authorize);
  app.use("/v1/*", authorize);

  app.get("/", (context) =>
    context.json({
      paths: [
        "/v1/whoami",
        "/v1/stations",
        "/v1/stations/{id}/observations",
        "/v1/stations/{id}/observations.csv",
        "/v1/stations/{id}/observations.parquet",
        "/v1/maps/temperature.tif",
      ],
      parameters: PARAMETERS,
    }));
  app.get("/v1/whoami", (context) => {
    const { username, sub, scope, exp = 0 } = context.get("claims");
    return context.json({ username, sub, scope, expiresAt: new Date(exp * 1000).toISOString() });
  });
  app.get("/v1/stations", (context) => context.json(STATIONS));
  app.get("/v1/stations/:id", (context) => context.json(findStation(context.req.param("id"))));
  app.get("/v1/stations/:id/observations", (context) => {
    const station = findStation(context.req.param("id"));
    const page = observationPage(station, new URL(context.req.url));
    if (page.next !== null) context.header("link", `<${page.next}>; rel="next"`);
    return context.json(page);
  });
  app.get("/v1/stations/:id/observations.csv", (context) => {
    const station = findStation(context.req.param("id"));
    const query = new URL(context.req.url).searchParams;
    const answer = fileAnswer(context.req.raw, observationText(station, query));
    answer.headers.set("content-disposition", `attachment; filename="${station.id}.csv"`);
    return answer;
  });
  app.get("/v1/stations/:id/observations.parquet", (context) => {
    const station = findStation(context.req.param("id"));
    return fileAnswer(context.req.raw, made(station.id, () => observationParquet(station)));
  });
  app.get(
    "/v1/maps/temperature.tif",
    (context) => fileAnswer(context.req.raw, made("map", temperatureMap)),
  );
  app.get(
    "/v1/stations/:id/download",
    (context) => context.redirect(downloads.link(findStation(context.req.param("id"))), 302),
  );
  app.post("/v1/annotations", async (context) => {
    const annotation = await readJson(context.req.raw);
    const id = `annotation-${++annotations}`;
    return context.json({ id, by: context.get("claims").username, annotation }, 201);
  });
  app.post("/v1/uploads", async (context) => {
    const bytes = new Uint8Array(await context.req.arrayBuffer());
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return context.json({
      id: `upload-${++uploads}`,
      contentType: context.req.header("content-type") ?? null,
      bytes: bytes.length,
      sha256: digest.toHex(),
    }, 201);
  });
  app.get(
    "/v1/admin/usage",
    () => problem(403, "forbidden", "This token is good, but its user may not read the usage."),
  );

  app.notFound((context) =>
    problem(404, "not_found", `There is nothing at ${context.req.method} ${context.req.path}.`)
  );
  app.onError((error) => {
    if (error instanceof QueryError) return problem(error.status, error.code, error.message);
    throw error;
  });
  return app;
}

function bearerToken(
  header: string | undefined,
): { value: string } | { problem: string; code: string | undefined } {
  if (header === undefined) {
    return { problem: "The authorization header is missing", code: undefined };
  }
  const [scheme, value, ...rest] = header.trim().split(/ +/);
  if (scheme?.toLowerCase() !== "bearer" || value === undefined) {
    return {
      problem: "The authorization header must be the word bearer and the access token",
      code: "invalid_request",
    };
  }
  if (rest.length > 0) {
    const twice = value.toLowerCase() === "bearer";
    return {
      problem: twice
        ? "The authorization header says bearer twice; remove it from the token"
        : "The authorization header has more than one token",
      code: "invalid_request",
    };
  }
  return { value };
}

function unauthorized(description: string, code: string | undefined): Response {
  // RFC 6750: the answer to a request without credentials has no error code.
  const error = code === undefined ? "" : ` error="${code}", error_description="${description}",`;
  const answer = problem(401, code ?? "unauthorized", `${description}.`);
  answer.headers.set("www-authenticate", `Bearer${error} realm="data-platform"`);
  return answer;
}

function problem(status: number, error: string, message: string): Response {
  return Response.json({ error, message }, { status });
}

function findStation(id: string): Station {
  const station = STATIONS.find((each) => each.id === id);
  if (station !== undefined) return station;
  const known = STATIONS.map((each) => each.id).join(", ");
  throw new QueryError(`There is no station "${id}"; known are ${known}.`, 404, "not_found");
}

async function readJson(request: Request): Promise<unknown> {
  const text = await request.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new QueryError(
      text === "" ? "The body is empty; send JSON." : "The body is not valid JSON.",
    );
  }
}
