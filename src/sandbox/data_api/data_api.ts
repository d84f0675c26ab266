/**
 * The data platform API of the sandbox: its routes, its made-up weather and its downloads. The code
 * of the identity provider checks the tokens of requests.
 *
 * @module
 */
import { Hono, type MiddlewareHandler } from "npm:hono@4.13.19";
import type { Downloads } from "./downloads.ts";
import { fileResponse } from "./files.ts";
import { type Failure, serveOrFail } from "../failures.ts";
import { observationPage, observationText, PARAMETERS, QueryError } from "./observations.ts";
import type { SandboxConfig } from "../options.ts";
import { addRecord, type ApiRequest } from "../records.ts";
import { type AccessClaims, type TokenIssuer, TokenRefused } from "../identity_provider/tokens.ts";
import { SAMPLES } from "./samples.ts";
import { type Station, STATIONS } from "./weather.ts";

/** The data sets that the portal lists. */
export const DATASETS: readonly { name: string; description: string; path: string }[] = [
  {
    name: "Stations",
    description: "Six weather stations: name, position and elevation.",
    path: "/v1/stations",
  },
  {
    name: "Hourly observations",
    description: "Temperature, rain, wind and pressure for each hour of 2025, in pages.",
    path: "/v1/stations/gull-harbor/observations",
  },
  {
    name: "Observations as CSV",
    description: "The same rows as one text file for a spreadsheet or a data frame.",
    path: "/v1/stations/gull-harbor/observations.csv",
  },
  {
    name: "Observations as Parquet",
    description: "One row group per month, so that a reader can fetch one column of one month.",
    path: "/v1/stations/gull-harbor/observations.parquet",
  },
  {
    name: "Temperature map",
    description:
      "The mean temperature of 2025, interpolated between the stations, as a tiled GeoTIFF.",
    path: "/v1/maps/temperature.tif",
  },
];

/** The parts that the API needs. */
export interface DataApiParts {
  readonly config: SandboxConfig;
  readonly tokens: TokenIssuer;
  readonly downloads: Downloads;
  readonly failures: Failure[];
  readonly requests: ApiRequest[];
}

interface Env {
  Variables: { claims: AccessClaims };
  Bindings: { record: ApiRequest };
}

/** The data platform API as a function. All of `/v1` needs an access token (section 5.1). */
export function createDataApi(
  parts: DataApiParts,
): (request: Request, signal: AbortSignal) => Promise<Response> {
  const routes = createRoutes(parts);
  const { failures, requests, config: { latencyMs, now } } = parts;
  return async (request, signal) => {
    const record: ApiRequest = {
      method: request.method,
      path: new URL(request.url).pathname,
      status: 0,
      authorized: false,
      at: new Date(now()),
    };
    addRecord(requests, record);
    const exchange = { at: "api", failures, latencyMs, signal, record } as const;
    return await serveOrFail(exchange, async () => await routes.fetch(request, { record }));
  };
}

function createRoutes({ tokens, downloads }: DataApiParts): Hono<Env> {
  const app = new Hono<Env>();
  let created = 0;

  app.get("/health", (context) => context.json({ status: "ok" }));

  const authorize: MiddlewareHandler<Env> = async (context, next) => {
    const header = context.req.header("authorization");
    if (header === undefined) return unauthorized("The authorization header is missing");
    const [scheme, token, ...rest] = header.trim().split(/ +/);
    if (scheme?.toLowerCase() !== "bearer" || token === undefined || rest.length > 0) {
      const twice = token?.toLowerCase() === "bearer";
      const description = twice
        ? "The authorization header contains bearer twice; remove it from the token"
        : "The authorization header must be the word bearer and the access token";
      return unauthorized(description, "invalid_request");
    }
    try {
      context.set("claims", await tokens.verify(token));
    } catch (error) {
      if (error instanceof TokenRefused) return unauthorized(error.message, "invalid_token");
      throw error;
    }
    context.env.record.authorized = true;
    return await next();
  };
  app.use("/", authorize);
  app.use("/v1/*", authorize);

  app.get("/", (context) => {
    const observations = "/v1/stations/{id}/observations";
    const paths = ["/v1/whoami", "/v1/stations", observations, `${observations}.csv`];
    return context.json({ paths: [...paths, ...Object.keys(SAMPLES)], parameters: PARAMETERS });
  });
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
    const response = fileResponse(context.req.raw, observationText(station, query));
    response.headers.set("content-disposition", `attachment; filename="${station.id}.csv"`);
    return response;
  });
  for (const [path, file] of Object.entries(SAMPLES)) {
    app.get(path, (context) => fileResponse(context.req.raw, file));
  }
  app.get(
    "/v1/stations/:id/download",
    (context) => context.redirect(downloads.link(findStation(context.req.param("id"))), 302),
  );
  app.post("/v1/annotations", async (context) => {
    const annotation = await readJson(context.req.raw);
    const id = `annotation-${++created}`;
    return context.json({ id, by: context.get("claims").username, annotation }, 201);
  });
  app.post("/v1/uploads", async (context) => {
    const bytes = new Uint8Array(await context.req.arrayBuffer());
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return context.json({
      id: `upload-${++created}`,
      contentType: context.req.header("content-type") ?? null,
      bytes: bytes.length,
      sha256: digest.toHex(),
    }, 201);
  });
  app.get(
    "/v1/admin/usage",
    () =>
      problem(
        403,
        "forbidden",
        "The token is valid, but its user is not allowed to read the usage.",
      ),
  );

  app.notFound(({ req }) =>
    problem(404, "not_found", `There is no resource at ${req.method} ${req.path}.`)
  );
  app.onError((error) => {
    if (error instanceof QueryError) return problem(error.status, error.code, error.message);
    throw error;
  });
  return app;
}

/**
 * Returns a 401 response as in RFC 6750. Without `code`, for a request without credentials, the
 * response has no error code.
 */
function unauthorized(description: string, code?: string): Response {
  const error = code === undefined ? "" : ` error="${code}", error_description="${description}",`;
  const response = problem(401, code ?? "unauthorized", `${description}.`);
  response.headers.set("www-authenticate", `Bearer${error} realm="data-platform"`);
  return response;
}

function problem(status: number, error: string, message: string): Response {
  return Response.json({ error, message }, { status });
}

function findStation(id: string): Station {
  const station = STATIONS.find((each) => each.id === id);
  if (station !== undefined) return station;
  const known = STATIONS.map((each) => each.id).join(", ");
  throw new QueryError(`There is no station "${id}"; the stations are ${known}.`, 404, "not_found");
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
