import { createHmac } from "../node_crypto.ts";
import { sameText } from "../identity_provider/client_checks.ts";
import { fileResponse } from "./files.ts";
import { csvTable } from "./observations.ts";
import { DATA_END, DATA_START, type Station, STATIONS } from "./weather.ts";

const LIFETIME_SECONDS = 300;

/**
 * Presigned downloads: files on a different origin from the API's. The URL is the only credential
 * of a request.
 */
export class Downloads {
  #key = crypto.randomUUID();
  #origin: string;
  #now: () => number;

  constructor(origin: string, now: () => number) {
    this.#origin = origin;
    this.#now = now;
  }

  /** A URL that downloads the file of a station for five minutes, without a token. */
  link(station: Station): string {
    const expires = Math.floor(this.#now() / 1000) + LIFETIME_SECONDS;
    const path = `/downloads/${station.id}.csv`;
    return `${this.#origin}${path}?expires=${expires}&signature=${this.#sign(path, expires)}`;
  }

  /**
   * Responds to a request for a file. Returns `undefined` if the path does not belong to a file.
   */
  serve(request: Request): Response | undefined {
    const { pathname, searchParams } = new URL(request.url);
    const id = /^\/downloads\/([a-z-]+)\.csv$/.exec(pathname)?.[1];
    const station = STATIONS.find((each) => each.id === id);
    if (station === undefined) return undefined;
    if (request.method !== "GET" && request.method !== "HEAD") return refused(405, "Use GET.");
    // Like real file stores, refuses a request with two credentials: the signature and a token.
    if (request.headers.has("authorization")) {
      return refused(400, "The URL is signed: send it without an authorization header.");
    }
    const expires = Number(searchParams.get("expires"));
    if (!sameText(searchParams.get("signature") ?? "", this.#sign(pathname, expires))) {
      return refused(403, "The signature of this URL is wrong: ask the API for a new URL.");
    }
    if (expires * 1000 <= this.#now()) {
      return refused(403, "This URL has expired: ask the API for a new one.");
    }
    return fileResponse(request, csvTable(station, { from: DATA_START, to: DATA_END }));
  }

  #sign(path: string, expires: number): string {
    return createHmac("sha256", this.#key).update(`${path}\n${expires}`).digest("base64url");
  }
}

function refused(status: number, message: string): Response {
  return Response.json({ error: "refused", message }, { status });
}
