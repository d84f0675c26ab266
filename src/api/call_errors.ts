/** Makes the errors of a call. An error quotes the response, but without the call's secrets. */
import type { ApiAccount } from "./account.ts";
import { accessOf, droppedPath } from "./api_access.ts";
import type { CallSecrets } from "./call_secrets.ts";
import { charsetOf, isText, lenientText } from "./charset.ts";
import { fixOfStatus, isUnknownPath, messageIn } from "./error_response.ts";
import { isPage, pageText } from "./pages.ts";
import { CORRECT_THE_ADDRESS, detourOf } from "./redirects.ts";
import type { ApiRequest } from "./request.ts";
import type { Advice, Fix } from "../errors/advice.ts";
import { ApiError, type ApiErrorCode } from "../errors/errors.ts";
import { retryAfterMs } from "../platform/backoff.ts";

/** Maximum length of the body in an error. */
const MAX_BODY_LENGTH = 65_536;
/**
 * Maximum number of bytes to read from an error response or a page. It is larger than
 * `MAX_BODY_LENGTH`, so that a secret at that limit is read, and removed, as a whole.
 */
export const MAX_BYTES_READ: number = MAX_BODY_LENGTH + 16_384;

/** Headers with the id of a request, with which the API's operator can find the request. */
const REQUEST_IDS = ["x-request-id", "x-amzn-requestid", "x-amz-request-id", "x-correlation-id"];

export const NOT_THE_API =
  "something in front of the API responded, so check API_BASE_URL, the path and any proxy";

const ASK_FOR_ACCESS =
  "try again; if it persists, check API_BASE_URL and the path, or ask the support channel of your subscription";

/** Says that a redirect led away from the API, and where to. */
function withoutToken(response: Response): string {
  const detour = detourOf(response);
  return detour ? `, after a redirect to ${detour.origin}, where the token is not sent` : "";
}

/** The response that an error is about, its text, and the underlying error. */
interface Details {
  readonly response?: Response;
  readonly text?: string | undefined;
  readonly cause?: unknown;
}

/** The errors of one call. */
export class CallErrors {
  constructor(
    private readonly account: ApiAccount,
    private readonly request: ApiRequest,
    private readonly secrets: CallSecrets,
  ) {}

  make(
    code: ApiErrorCode,
    problem: string,
    fix: Fix,
    { response, text, cause }: Details = {},
  ): ApiError {
    const { account, request: { method, url }, secrets } = this;
    const waitMs = retryAfterMs(response?.headers, account.world.now());
    const id = REQUEST_IDS.map((name) => response?.headers.get(name)).find((id) => id);
    return new ApiError(code, problem, fix, {
      method,
      url,
      status: response?.status,
      retryAfterSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1_000),
      requestId: id ? secrets.quote(id, 80) : undefined,
      body: text && isText(text) ? secrets.removeFrom(text, MAX_BODY_LENGTH) : undefined,
      hadToken: !(response && detourOf(response)),
      cause,
    });
  }

  /** The error for a response whose status is not 2xx. Quotes the message in its body. */
  refused(response: Response, text: string, attempts: number): ApiError {
    const { account, request: { method, url }, secrets } = this;
    const { status } = response;
    const said = messageIn(text);
    const quoted = said && ` (${secrets.quote(said).replace(/\.$/, "")})`;
    const who = this.#isFromApi(response) ? "the API" : detourOf(response)?.host;
    const tried = attempts > 1 ? ` after ${attempts} attempts` : "";
    const what =
      `Cannot ${method} ${url} because ${who} responded with ${status}${quoted}${tried}` +
      withoutToken(response);
    const failure = status === 401 && !detourOf(response) ? account.refreshFailure : undefined;
    const problem = failure === undefined ? what : `${what}. ${failure.problem}`;
    const fix = failure?.fix ?? this.#fixOf(response, said);
    return this.make("API_STATUS", problem, fix, { response, text });
  }

  #isFromApi(response: Response): boolean {
    const host = detourOf(response)?.host;
    return host === undefined || host === new URL(this.request.address).host;
  }

  #fixOf(response: Response, said: string): Fix {
    const { account, request } = this;
    const dropped = droppedPath(request.input, accessOf(account.settings));
    if (isUnknownPath(response, said) && dropped !== undefined) {
      return `check the path: with a leading slash, it replaces the path ${dropped} of API_BASE_URL; without one, it continues that path`;
    }
    // The server that responded has not seen the token, so a login or a permission would not help.
    if ([401, 403].includes(response.status) && detourOf(response)) {
      return this.#isFromApi(response) ? CORRECT_THE_ADDRESS : ASK_FOR_ACCESS;
    }
    return fixOfStatus(response, said, retryAfterMs(response.headers, account.world.now()));
  }

  /** The error for a 2xx response with an unexpected body. */
  unusable(response: Response, { problem, fix = "" }: Advice, details: Details = {}): ApiError {
    const { method, url } = this.request;
    const after = `status ${response.status}${withoutToken(response)}`;
    const what = `Cannot use the response to ${method} ${url} (${after})`;
    return this.make("API_BODY", `${what}: ${problem}`, fix, { ...details, response });
  }

  /** The error for a body that ends early. */
  brokenOff(response: Response, cause: unknown): ApiError {
    return this.unusable(response, { problem: "it broke off", fix: "try again" }, { cause });
  }

  /** The error for a body that is not text in the charset of the response. */
  undecodable(response: Response, bytes: Uint8Array): ApiError {
    const { headers } = response;
    const text = lenientText(bytes, headers);
    if (isPage(text)) return this.unusable(response, this.pageInsteadOfJson(text));
    return this.unusable(response, {
      problem: `it is not text in the charset ${this.secrets.quote(charsetOf(headers), 40)}`,
      fix: "save it with download(), or read its bytes with authFetch() and decode them yourself",
    });
  }

  pageInsteadOfJson(text: string): Advice {
    return { problem: `it is ${this.describePage(text)}, not JSON`, fix: NOT_THE_API };
  }

  /** Describes a page that was received instead of the API's response. */
  describePage(text: string): string {
    return this.secrets.quote(pageText(text), 80);
  }
}
