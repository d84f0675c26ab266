import { createHmac } from "node:crypto";
import { sameText } from "../identity_provider/client_checks.ts";
import { csvTable } from "./observations.ts";
import { DATA_END, DATA_START, type Station, STATIONS } from "./weather.ts";

const LIFETIME_SECONDS = 300;

/** Presigned downloads: files on another origin than the API, opened by their URL alone. */
export class Downloads {
  #key = crypto.randomUUID();
  #origin: string;
  #now: () => number;

  constructor(origin: string, now: () => number) {
    this.#origin = origin;
    this.#now = now;
  }

  /** A URL that gives the file of a station for five minutes. */
  link(station: Station): string {
    const expires = Math.floor(this.#now() / 1000) + LIFETIME_SECONDS;
    const path = `/downloads/${station.id}.csv`;
    return `${this.#origin}${path}?expires=${expires}&signature=${this.#sign(path, expires)}`;
  }

  /** Answers a request for a file, or `undefined` when the path is not one. */
  serve(request: Request): Response | undefined {
    const { pathname, searchParams } = new URL(request.url);
    const id = /^\/downloads\/([a-z-]+)\.csv$/.exec(pathname)?.[1];
    const station = STATIONS.find((each) => each.id === id);
    if (station === undefined) return undefined;
    if (request.method !== "GET" && request.method !== "HEAD") return refused(405, "Use GET.");
    // As the file stores do: a signature and a token together are one too many.
    if (request.headers.has("authorization")) {
      return refused(400, "The URL is signed; leave the authorization header out.");
    }
    const expires = Number(searchParams.get("expires"));
    if (!sameText(searchParams.get("signature") ?? "", this.#sign(pathname, expires))) {
      return refused(403, "The signature of this URL is not good.");
    }
    if (expires * 1000 <= this.#now()) return refused(403, "This URL expired; ask for a new one.");
    const body = request.method === "HEAD"
      ? null
      : csvTable(station, { from: DATA_START, to: DATA_END });
    return new Response(body, { headers: { "content-type": "text/csv; charset=utf-8" } });
  }

  #sign(path: string, expires: number): string {
    return createHmac("sha256", this.#key).update(`${path}\n${expires}`).digest("base64url");
  }
}

function refused(status: number, message: string): Response {
  return Response.json({ error: "refused", message }, { status });
}
