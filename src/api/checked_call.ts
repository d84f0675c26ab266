/** Sends the calls of `fetchJson()` and of downloads, and checks the responses. */
import { droppedPath } from "./api_access.ts";
import {
  accessOf,
  addressOfCall,
  type ApiAccount,
  fetchWithToken,
  isPlainObject,
} from "./auth_fetch.ts";
import { charsetOf, isKnownCharset, lenientText } from "./charset.ts";
import { checkedHeaders } from "./headers.ts";
import { isMarkup, isPage, pageText } from "./pages.ts";
import { isElsewhere } from "./redirects.ts";
import { unlessAborted } from "../platform/abort.ts";
import { retryAfterMs } from "../platform/backoff.ts";
import { readUpTo } from "../platform/body.ts";
import { IdleWatch, Stalled } from "../platform/idle.ts";
import { ApiError, type ApiErrorCode, typeError } from "../errors/errors.ts";
import type { Advice, Fix } from "../errors/advice.ts";
import { redact, Secret, secretCutter } from "../platform/secret.ts";
import { parsedJson } from "../platform/json.ts";
import type { Tokens } from "../provider/tokens.ts";
import { counted } from "../errors/amounts.ts";

/** Maximum number of bytes to read from an error response or a page. */
const MAX_BODY_BYTES = 65_536;
/** Minimum length of a value to redact. Shorter values appear in almost any text by chance. */
const SHORTEST_SECRET = 8;
/** Matches the strings and numbers of a JSON text. */
const JSON_SCALARS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const SECRET_NAME =
  /signature|credential|token|secret|password|access-?key|api[-_]?key|authorization|cookie|^(sig|key|code|auth)$/i;

/** A call whose response is checked by this module, not by the user. */
export class CheckedCall {
  readonly method: string;
  /** The address without its query. The query of a presigned address is as secret as a token. */
  readonly url: string;
  /** The address with its query. */
  readonly address: string;
  /** The address of the last request: another one than `address` after a redirect. */
  sentTo: string;
  /** The user's headers. */
  readonly headers: Headers;
  readonly #tokens = new Set<Tokens>();
  #watch: IdleWatch | undefined;
  /** Number of requests so far, without redirects. */
  #requests = 0;

  /**
   * @param idleMs From `idleTimeout()`.
   * @throws {TypeError | ConfigError} If the call cannot be sent; `UNTRUSTED_ORIGIN` if its address
   * must not receive the token.
   */
  constructor(
    readonly account: ApiAccount,
    readonly input: string | URL | Request,
    readonly init: RequestInit,
    readonly signal: AbortSignal | undefined,
    readonly idleMs: number,
  ) {
    if (!isPlainObject(init)) throw typeError("The options of a call must be a plain object");
    const given = init.headers ?? (input instanceof Request ? input.headers : undefined);
    this.headers = checkedHeaders(given);
    this.address = this.sentTo = addressOfCall(account, input);
    const { origin, pathname } = new URL(this.address);
    this.url = origin + pathname;
    this.method = init.method?.toUpperCase() ??
      (input instanceof Request ? input.method : "GET");
  }

  /** Whether the call may be sent more than once. */
  get isSafe(): boolean {
    return this.method === "GET" || this.method === "HEAD";
  }

  /** @throws {Stalled} If no response arrives in time. */
  async send(headers: HeadersInit): Promise<Response> {
    this.release();
    const { account, input, idleMs, signal } = this;
    const watch = this.#watch = new IdleWatch(account.world, idleMs, signal);
    const init = { ...this.init, headers };
    try {
      const onSend = (address: string, tokens: Tokens) => {
        this.sentTo = address;
        this.#tokens.add(tokens);
        watch.begin();
        if (address === this.address) this.#requests++;
        return this.#requests;
      };
      const response = fetchWithToken(account, input, init, watch.signal, onSend);
      return await unlessAborted(watch.signal, response);
    } finally {
      watch.pause();
    }
  }

  /**
   * Waits for more data from the last response.
   * @throws {Stalled} If no data arrives in time.
   */
  async more<T>(read: Promise<T>): Promise<T> {
    return this.#watch === undefined ? await read : await this.#watch.during(read);
  }

  /** Stops monitoring the last response. */
  release(): void {
    this.#watch?.release();
  }

  /**
   * Shortens the API's text so that a message can quote it. Withholds the text if it repeats a
   * secret of the request.
   */
  quote(text: string, response: Response, maxLength?: number): string {
    return redact(text, this.#secrets(response), maxLength);
  }

  #secrets(response: Response): Secret[] {
    const tokens = [...this.#tokens].flatMap(({ accessToken, refreshToken }) =>
      refreshToken ? [accessToken, refreshToken] : [accessToken]
    );
    const redirected = response.redirected ? [...new URL(response.url).searchParams] : [];
    const given = [...new URL(this.address).searchParams, ...this.headers]
      .filter(([name]) => SECRET_NAME.test(name));
    const values = [...given, ...redirected].map(([, value]) => value)
      .filter((value) => value.length >= SHORTEST_SECRET);
    return [...tokens, ...values.map((value) => new Secret(value))];
  }

  /** @param details The response with its body, and the underlying error. */
  error(
    code: ApiErrorCode,
    problem: string,
    fix: Fix,
    { response, text, cause }: { response?: Response; text?: string; cause?: unknown } = {},
  ): ApiError {
    const { method, url } = this;
    const waitMs = response && retryAfterMs(response.headers, this.account.world.now());
    const id = response && requestIdOf(response.headers);
    return new ApiError(code, problem, fix, {
      method,
      url,
      status: response?.status,
      retryAfterSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1_000),
      requestId: response && id ? this.quote(id, response, 80) : undefined,
      body: response && text ? this.#bodyOf(text.slice(0, MAX_BODY_BYTES), response) : undefined,
      cause,
    });
  }

  /**
   * Returns the response body for the error's `body` property. Secrets that the body repeats are
   * removed.
   */
  #bodyOf(text: string, response: Response): unknown {
    const cut = secretCutter(this.#secrets(response));
    if (parsedJson(text) === undefined) return cut(text);
    const json = text.replace(JSON_SCALARS, (scalar) => {
      // In JSON text, an escaped character could hide a secret from `cut()`, so strings are parsed
      // first.
      const value = scalar.startsWith('"') ? JSON.parse(scalar) : scalar;
      const shown = cut(value);
      return shown === value ? scalar : JSON.stringify(shown);
    });
    return JSON.parse(json);
  }

  /** Makes the error for a 2xx response with an unexpected body. */
  bodyError(
    response: Response,
    { problem, fix = "" }: Advice,
    { text, cause }: { text?: string; cause?: unknown } = {},
  ): ApiError {
    const what = `Cannot use the response to ${this.method} ${this.url}`;
    const details = { response, cause, ...(text !== undefined && { text }) };
    return this.error("API_BODY", `${what} (status ${response.status}): ${problem}`, fix, details);
  }

  /** Makes the error for a body that ends early. */
  brokenOff(response: Response, cause: unknown): ApiError {
    return this.bodyError(response, { problem: "it broke off", fix: "try again" }, { cause });
  }

  /** Makes the error for a body that is not text in the charset of the response. */
  undecodable(response: Response, bytes: Uint8Array): ApiError {
    const { headers } = response;
    const text = lenientText(bytes, headers);
    if (isPage(text)) {
      const problem = `it is ${this.describePage(text, response)}, not JSON`;
      return this.bodyError(response, { problem, fix: NOT_THE_API });
    }
    const charset = charsetOf(headers);
    const name = this.quote(charset, response, 40);
    return this.bodyError(response, {
      problem: isKnownCharset(charset)
        ? `it contains bytes that are not text in the charset ${name}`
        : `it declares the charset ${name}, which the runtime cannot decode`,
      fix: "save it with download(), or decode (await authFetch(…)).arrayBuffer() yourself",
    });
  }

  /** Describes a page that was received instead of the API's response. */
  describePage(text: string, response: Response): string {
    const asks = /type=["']?password|log ?in|sign ?in/i.test(text)
      ? ", which asks for a login"
      : "";
    return this.quote(pageText(text), response, 80) + asks;
  }

  /**
   * Refuses to save a web page, such as a login page, as data: the user might notice the mistake
   * only much later.
   *
   * @throws {ApiError} `API_BODY` if the response has no body, or is a page and the file does not
   * have the extension of a page.
   */
  async refuseUnusable(response: Response, file: string): Promise<void> {
    if (isBodiless(response)) {
      const problem = "it has no body, so nothing was saved";
      throw this.bodyError(response, { problem, fix: "check the path" });
    }
    if (/\.x?html?$/i.test(file)) return;
    const type = response.headers.get("content-type") ?? "";
    if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(type)) return;
    const text = await this.#beginningOf(response.clone());
    if (!isMarkup(text)) return;
    await response.body?.cancel();
    throw this.bodyError(response, {
      problem: `it is ${this.describePage(text, response)}, and was not saved`,
      fix: `${NOT_THE_API}; or, to save a page, name the file ….html`,
    }, { text });
  }

  /** Makes the error for a response whose status is not 2xx. Reads the message in its body. */
  async statusError(response: Response, attempts: number): Promise<ApiError> {
    const { status } = response;
    const text = await this.#beginningOf(response);
    const said = messageIn(text);
    const quoted = said && ` (${this.quote(said, response).replace(/\.$/, "")})`;
    const isFromStore = isElsewhere(response, this.address);
    const who = isFromStore ? URL.parse(response.url)?.host : "the API";
    const tried = attempts > 1 ? ` after ${attempts} attempts` : "";
    const what =
      `Cannot ${this.method} ${this.url} because ${who} responded with ${status}${quoted}${tried}`;
    const failure = status === 401 && !isFromStore ? this.account.refreshFailure : undefined;
    const problem = failure === undefined ? what : `${what}. ${failure.problem}`;
    const fix = failure?.fix ?? this.#fixOf(response, isFromStore);
    return this.error("API_STATUS", problem, fix, { response, text });
  }

  #fixOf({ status, headers }: Response, isFromStore: boolean): Fix {
    const dropped = droppedPath(this.input, accessOf(this.account.settings));
    if (status === 404 && dropped !== undefined) {
      return `check the path: with a leading slash, a path starts at the host; without, it continues ${dropped}`;
    }
    // A file host to which the API redirected did not receive the token, so a new login cannot help
    // with its 401. The fix is the one for a 403.
    const about = status === 401 && isFromStore ? 403 : status;
    return fixOfStatus(about, retryAfterMs(headers, this.account.world.now()));
  }

  /** Returns the beginning of a body, even if the rest breaks off or stalls. */
  async #beginningOf({ body, headers }: Response): Promise<string> {
    // deno-lint-ignore no-explicit-any -- as the end of a stream
    const end = (): any => ({ done: true });
    const read = <T>(piece: Promise<T>) => this.more(piece).catch<T>(end);
    const { bytes } = await readUpTo(body, MAX_BODY_BYTES, read);
    this.signal?.throwIfAborted();
    return lenientText(bytes, headers).trim();
  }

  /**
   * Returns a whole body.
   * @throws {Stalled} If the API stops sending data.
   * @throws {ApiError} `API_BODY` if the body breaks off.
   */
  async bytes(response: Response): Promise<Uint8Array> {
    const read = <T>(piece: Promise<T>) =>
      this.more(piece).catch((cause) => {
        this.signal?.throwIfAborted();
        throw cause instanceof Stalled ? cause : this.brokenOff(response, cause);
      });
    return (await readUpTo(response.body, Infinity, read)).bytes;
  }
}

/** Whether a response with this status never has a body. */
export function isBodiless({ status }: Response): boolean {
  return status === 204 || status === 205;
}

export const NOT_THE_API =
  "something in front of the API responded: check API_BASE_URL, the path and any proxy";

function requestIdOf(headers: Headers): string | undefined {
  const names = ["x-request-id", "x-amzn-requestid", "x-amz-request-id", "x-correlation-id"];
  return names.map((name) => headers.get(name) ?? undefined).find((id) => id);
}

/**
 * Returns the fix for a response whose status is not 2xx.
 *
 * @param waitMs The wait that the response's `Retry-After` asks for, in milliseconds.
 */
function fixOfStatus(status: number, waitMs: number | undefined): Fix {
  if (waitMs !== undefined && waitMs > 0) {
    return `wait ${counted(Math.ceil(waitMs / 1_000), "second")}, as the API asks, then try again`;
  }
  if (status === 401) {
    return ["run ", { call: "login", options: { force: true } }, ", then try again"];
  }
  if (status === 403) {
    return "your account does not have this permission, and another login does not help: ask the support channel of " +
      "your subscription";
  }
  if (status === 404 || status === 410) return "check the path";
  if (status === 429) return "wait, then try again";
  if (status >= 500) return "try again in a few minutes";
  return "check the request";
}

/**
 * Returns the message in the body of an error response: the message in JSON or XML, the title of a
 * web page, or the whole text.
 */
function messageIn(text: string): string {
  if (isPage(text)) return pageText(text);
  const element = /^</.test(text) && /<Message>([^<]*)<\/Message>/i.exec(text)?.[1];
  return element || (sentenceIn(parsedJson(text)) ?? text);
}

const SENTENCES = ["message", "Message", "detail", "error_description", "title", "reason"];

function sentenceIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  const body = value as Record<string, unknown>;
  const named = SENTENCES.map((name) => body[name]).find((it) => typeof it === "string" && it);
  const [first] = Array.isArray(body.errors) ? body.errors : [];
  return typeof named === "string" ? named : sentenceIn(body.error ?? first);
}
