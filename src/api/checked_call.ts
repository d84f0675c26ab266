/**
 * Calls to the API: where the token may go (`api_access.ts`), how a call is sent, redirected and sent
 * again (`auth_fetch.ts`), and calls whose answer this module checks itself. May import session and
 * the folders below it.
 *
 * This file checks answers, and says in errors what the API said.
 */
import { addressOfCall, type ApiAccount, fetchWithToken } from "./auth_fetch.ts";
import { unlessAborted } from "../platform/abort.ts";
import { retryAfterMs } from "../platform/backoff.ts";
import { IdleWatch } from "../platform/idle.ts";
import { ApiError, type ApiErrorCode, typeError } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { redact, Secret } from "../platform/secret.ts";
import type { Tokens } from "../provider/tokens.ts";
import { counted } from "../errors/amounts.ts";

/** How much of an error or a page is read: its message or title stands at the beginning. */
const MAX_BEGINNING_LENGTH = 65_536;
/** Shorter values of a query occur in every text. */
const SHORTEST_SECRET = 8;
const SECRET_NAME =
  /signature|credential|token|secret|password|access-?key|api[-_]?key|authorization|cookie|^(sig|key|code|auth)$/i;

/** Why a body cannot be used, and what to do about it. */
export interface Unusable {
  readonly problem: string;
  readonly fix: Fix;
}

/** A call whose answer this module checks, and not the user. */
export class CheckedCall {
  readonly method: string;
  /** Where it goes, without the query: that of a presigned address is as good as a token. */
  readonly url: string;
  /** The same with the query. */
  readonly address: string;
  readonly #tokens = new Set<Tokens>();
  #watch: IdleWatch | undefined;

  /**
   * @param idleMs How long a request may bring nothing, from `idleTimeout()`.
   * @throws {TypeError | ConfigError} If it cannot be sent, or the token may not go there.
   */
  constructor(
    readonly doing: string,
    readonly account: ApiAccount,
    readonly input: string | URL | Request,
    readonly init: RequestInit,
    readonly signal: AbortSignal | undefined,
    readonly idleMs: number,
  ) {
    if (typeof input !== "string" && !(input instanceof URL) && !(input instanceof Request)) {
      throw typeError(`${doing} takes a string, a URL or a Request, not ${typeof input}`);
    }
    this.address = addressOfCall(account, input);
    const { origin, pathname } = new URL(this.address);
    this.url = origin + pathname;
    this.method = init.method?.toUpperCase() ??
      (input instanceof Request ? input.method : "GET");
  }

  /** Those that the user gave. */
  get headers(): HeadersInit {
    return this.init.headers ?? (this.input instanceof Request ? this.input.headers : []);
  }

  /** Whether it may be sent more than once. */
  get isSafe(): boolean {
    return this.method === "GET" || this.method === "HEAD";
  }

  /** @throws {Stalled} If it is not answered in time. */
  async send(headers: string[][]): Promise<Response> {
    this.release();
    const { account, input, idleMs, signal } = this;
    const watch = this.#watch = new IdleWatch(account.world, idleMs, signal);
    const init = { ...this.init, headers: headers as HeadersInit };
    try {
      // The time for a refresh is not that of the API.
      const answer = fetchWithToken(account, input, init, watch.signal, {
        onSent: (tokens) => {
          this.#tokens.add(tokens);
          watch.begin();
        },
        onAnswered: () => watch.pause(),
      });
      return await unlessAborted(watch.signal, answer);
    } finally {
      watch.pause();
    }
  }

  /** Waits for more of the last answer. @throws {Stalled} If nothing comes. */
  async more<T>(read: Promise<T>): Promise<T> {
    return this.#watch === undefined ? await read : await this.#watch.during(read);
  }

  /** Ends the watch over the last answer, which is read no further. */
  release(): void {
    this.#watch?.release();
  }

  /** What the API said, fit for a message: without what was secret in the request. */
  quote(text: string, response: Response, maxLength?: number): string {
    return redact(text, this.#secrets(response), maxLength);
  }

  #secrets(response: Response): Secret[] {
    const tokens = [...this.#tokens].flatMap(({ accessToken, refreshToken }) =>
      refreshToken ? [accessToken, refreshToken] : [accessToken]
    );
    const redirected = response.redirected ? [...new URL(response.url).searchParams] : [];
    const given = [...new URL(this.address).searchParams, ...new Headers(this.headers)]
      .filter(([name]) => SECRET_NAME.test(name));
    const values = [...given, ...redirected].map(([, value]) => value)
      .filter((value) => value.length >= SHORTEST_SECRET);
    return [...tokens, ...values.map((value) => new Secret(value))];
  }

  /** @param details The answer, and the error behind this one. */
  error(
    code: ApiErrorCode,
    problem: string,
    fix: Fix,
    { response, cause }: { response?: Response; cause?: unknown } = {},
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
      cause,
    });
  }

  /** The error of a 2xx whose body is not what was asked for. */
  bodyError(response: Response, { problem, fix }: Unusable, cause?: unknown): ApiError {
    const what = `Cannot use the answer to ${this.method} ${this.url} (status ${response.status})`;
    return this.error("API_BODY", `${what}: ${problem}`, fix, { response, cause });
  }

  /** Describes a page that came in place of an answer of the API. */
  describePage(text: string, response: Response): string {
    const asks = /type=["']?password|log ?in|sign ?in/i.test(text)
      ? ", which asks for a login"
      : "";
    return this.quote(pageText(text), response, 80) + asks;
  }

  /**
   * Refuses a login page before it is saved: in a file of measurements it would be noticed late.
   *
   * @throws {ApiError} `API_BODY` for a page where the file is not named as one, and for an answer
   *   without a body.
   */
  async refuseUnusable(response: Response, file: string): Promise<void> {
    if (response.status === 204 || response.status === 205) {
      throw this.bodyError(response, {
        problem: "it has no body, so nothing was saved",
        fix: "check the path",
      });
    }
    if (/\.x?html?$/i.test(file)) return;
    const type = response.headers.get("content-type") ?? "";
    if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(type)) return;
    const text = await this.#beginningOf(response.clone(), isNoMarkup);
    if (!isMarkup(text)) return;
    await response.body?.cancel();
    const page = this.describePage(text, response);
    throw this.bodyError(response, {
      problem: `it is ${page}, and was not saved`,
      fix: `${NOT_THE_API}; or, to save a page, name the file ….html`,
    });
  }

  /** The error of an answer that is no 2xx. Reads its body. */
  async statusError(response: Response, attempts: number): Promise<ApiError> {
    const { status } = response;
    const said = messageIn(await this.#beginningOf(response));
    const quoted = said && ` (${this.quote(said, response).replace(/\.$/, "")})`;
    const host = response.redirected ? URL.parse(response.url)?.host : undefined;
    const who = host === undefined || host === new URL(this.url).host ? "the API" : host;
    const tried = attempts > 1 ? ` after ${attempts} attempts` : "";
    const answered = `${who} answered ${status}${quoted}${tried}`;
    const what = `Cannot ${this.method} ${this.url} because ${answered}`;
    const waitMs = retryAfterMs(response.headers, this.account.world.now());
    return this.error("API_STATUS", what, fixOfStatus(status, waitMs), { response });
  }

  /** The first part of a body, up to where it broke off or nothing more came. */
  async #beginningOf(
    response: Response,
    isEnough: (text: string) => boolean = () => false,
  ): Promise<string> {
    let text = "";
    try {
      for await (const piece of this.#textOf(response)) {
        text += piece;
        // Asked after each piece: more may tell nothing more.
        if (text.length >= MAX_BEGINNING_LENGTH || isEnough(text)) break;
      }
    } catch {
      this.signal?.throwIfAborted();
    }
    return text.trim();
  }

  /** A whole body. @throws {Stalled} If nothing more of it comes. */
  async text(response: Response): Promise<string> {
    let text = "";
    for await (const piece of this.#textOf(response)) text += piece;
    return text;
  }

  async *#textOf({ body }: Response): AsyncGenerator<string> {
    const reader = body?.getReader();
    const decoder = new TextDecoder();
    try {
      while (reader) {
        const { done, value } = await this.more(reader.read());
        if (done) break;
        yield decoder.decode(value, { stream: true });
      }
      yield decoder.decode();
    } finally {
      // Not waited for: that of a copy settles only when the answer itself ends, too.
      reader?.cancel().catch(() => {});
    }
  }
}

/** What to do about a page in place of an answer of the API. */
export const NOT_THE_API =
  "something between here and the API answered: check API_BASE_URL, the path and any proxy";

function requestIdOf(headers: Headers): string | undefined {
  const names = ["x-request-id", "x-amzn-requestid", "x-amz-request-id", "x-correlation-id"];
  return names.map((name) => headers.get(name)).find((id) => id !== null) ?? undefined;
}

/**
 * What to do about an answer that is no 2xx.
 *
 * @param waitMs What the API asked to wait.
 */
export function fixOfStatus(status: number, waitMs: number | undefined): Fix {
  if (waitMs !== undefined && waitMs > 0) {
    return `wait ${counted(Math.ceil(waitMs / 1_000), "second")}, as it asks, then try again`;
  }
  if (status === 401) {
    return ["run ", { call: "login", options: { force: true } }, ", then try again"];
  }
  if (status === 403) {
    return "your account may not do this, and another login does not help: ask the support channel of " +
      "your subscription";
  }
  if (status === 404 || status === 410) return "check the path";
  if (status === 429) return "wait, then try again";
  if (status >= 500) return "try again in a few minutes";
  return "check the request";
}

/** The message in an error's body: that of JSON or XML, the title of a page, or the whole text. */
function messageIn(text: string): string {
  if (isPage(text)) return pageText(text);
  const element = /^</.test(text) && /<Message>([^<]*)<\/Message>/i.exec(text)?.[1];
  if (element) return element;
  try {
    return sentenceIn(JSON.parse(text)) ?? text;
  } catch {
    return text;
  }
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

/** Whether a text begins as an HTML page. */
export function isPage(text: string): boolean {
  return /^<(!doctype\s*html|html)\b/i.test(withoutPreamble(text));
}

/** Whether a text that is said to be HTML begins as a page or a part of one, such as a form. */
function isMarkup(text: string): boolean {
  const rest = withoutPreamble(text);
  return isPage(text) || FIRST_TAG.test(rest) || UNENDED.test(rest);
}

/** Whether a text is certainly not HTML, whatever follows. */
function isNoMarkup(text: string): boolean {
  const rest = withoutPreamble(text);
  return rest.length > FIRST_TAG_LENGTH && !isMarkup(text) || /^[^<]/.test(rest);
}

/** The tags that a page begins with where it has no doctype. */
const FIRST_TAG =
  /^<(head|title|meta|link|style|script|noscript|base|body|header|main|section|nav|form|div|span|center|iframe|h[1-6]|table|font|img|br|p|a|b)[\s/>]/i;
/** Within so many characters a doctype or a first tag names itself. */
const FIRST_TAG_LENGTH = 64;
/** A comment that does not end in what was read. */
const UNENDED = /^<(!--|\?)/;

/** A text without what may stand before the first tag: blanks, an XML declaration and comments. */
function withoutPreamble(text: string): string {
  const blanks = /\s*/y;
  for (let at = 0;;) {
    blanks.lastIndex = at;
    blanks.test(text);
    at = blanks.lastIndex;
    const closing = text.startsWith("<!--", at) ? "-->" : text.startsWith("<?", at) ? ">" : "";
    const end = closing === "" ? -1 : text.indexOf(closing, at + 2);
    if (end < 0) return text.slice(at);
    at = end + closing.length;
  }
}

/** Names a page by its title. The pattern stops at the next tag, so that the time stays linear. */
function pageText(html: string): string {
  const title = /<title[^<>]*>([^<]*)/i.exec(html)?.[1]?.trim();
  return `an HTML page${title ? ` with the title "${title}"` : ""}`;
}
