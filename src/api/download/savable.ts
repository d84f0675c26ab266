/** Refuses 2xx responses that are not the file, such as web pages. Decodes encoded files. */
import { NOT_THE_API } from "../call_errors.ts";
import type { CheckedCall } from "../checked_call.ts";
import { fixOfStatus } from "../error_response.ts";
import { isPage } from "../pages.ts";
import { encodingOf } from "./version.ts";
import type { Fix } from "../../errors/advice.ts";
import type { ApiError } from "../../errors/errors.ts";
import { retryAfterMs } from "../../platform/backoff.ts";

const READ_IT: Fix = [
  { inProgram: "read it with authFetch()", inTerminal: "print it, without --output" },
  ", because it may say where the file is",
];

/**
 * Refuses to save a web page, such as a login page, as data: the user might notice the mistake only
 * much later.
 *
 * @throws {ApiError} `API_BODY` if the response is a page and the file does not have the extension
 * of a page.
 */
export async function refusePage(
  call: CheckedCall,
  response: Response,
  file: string,
): Promise<void> {
  if (/\.x?html?$/i.test(file)) return;
  const type = response.headers.get("content-type") ?? "";
  if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(type)) return;
  const text = await call.beginningOf(response.clone());
  if (!isPage(text)) return;
  await response.body?.cancel();
  throw call.errors.unusable(response, {
    problem: `it is ${call.errors.describePage(text)}, and was not saved`,
    fix: `${NOT_THE_API}; or, to save a page, give the file a name that ends in .html`,
  }, { text });
}

/** The error for a 2xx response that is not the file. */
export async function notTheFile(call: CheckedCall, response: Response): Promise<ApiError> {
  const problem = "a response with this status is not the file, and was not saved";
  const text = await call.beginningOf(response);
  return call.errors.unusable(response, { problem, fix: READ_IT }, { text });
}

/**
 * The error for a 202 after which the request is not repeated. Repeating a POST, for example, could
 * start the preparation again.
 */
export async function notReady(
  call: CheckedCall,
  response: Response,
  attempts: number,
): Promise<ApiError> {
  const tried = attempts > 1 ? `, after ${attempts} attempts` : "";
  const waitMs = retryAfterMs(response.headers, call.account.world.now());
  return call.errors.unusable(response, {
    problem: `the API is still preparing the file${tried}, and nothing was saved`,
    fix: call.request.isSafe ? fixOfStatus(response, "", waitMs) : READ_IT,
  }, { text: await call.beginningOf(response) });
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

const FORMATS: Readonly<Record<string, CompressionFormat>> = {
  gzip: "gzip",
  deflate: "deflate",
  br: "brotli",
};

/**
 * Returns the decoded body. A download asks for a body without an encoding, because only then the
 * length and the ranges are those of the file. If the API encodes the body nevertheless, the
 * runtime does not decode it, so this function does.
 *
 * @throws {ApiError} `API_BODY` if the runtime does not know the encoding.
 */
export async function decodedBody(call: CheckedCall, response: Response): Promise<Bytes | null> {
  const encoding = encodingOf(response);
  const format = FORMATS[encoding];
  if (encoding === "" || response.body === null) return response.body;
  if (format !== undefined) return response.body.pipeThrough(new DecompressionStream(format));
  await response.body.cancel();
  const what = call.secrets.quote(encoding, 80);
  throw call.errors.unusable(response, {
    problem: `it is encoded with ${what}, and was not saved`,
    fix: "ask the support channel of your subscription for files without this encoding",
  });
}
