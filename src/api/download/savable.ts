/** Refuses responses that are not the file: pages, empty responses and unknown encodings. */
import { NOT_THE_API } from "../call_errors.ts";
import type { CheckedCall } from "../checked_call.ts";
import { isMarkup } from "../pages.ts";

/** Statuses of responses that never have a body. */
const BODILESS = [204, 205];

/**
 * Refuses to save a response without a body, or a web page, such as a login page, as data: the user
 * might notice the mistake only much later.
 *
 * @throws {ApiError} `API_BODY` if the response has no body, or is a page and the file does not
 * have the extension of a page.
 */
export async function refuseUseless(
  call: CheckedCall,
  response: Response,
  file: string,
): Promise<void> {
  if (BODILESS.includes(response.status)) {
    const problem = "it has no body, so nothing was saved";
    throw call.errors.unusable(response, { problem, fix: "check the path" });
  }
  if (/\.x?html?$/i.test(file)) return;
  const type = response.headers.get("content-type") ?? "";
  if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(type)) return;
  const text = await call.beginningOf(response.clone());
  if (!isMarkup(text)) return;
  await response.body?.cancel();
  throw call.errors.unusable(response, {
    problem: `it is ${call.errors.describePage(text)}, and was not saved`,
    fix: `${NOT_THE_API}; or, to save a page, name the file ….html`,
  }, { text });
}

/** @throws {ApiError} `API_BODY` if the runtime does not decode this encoding. */
export async function refuseEncoding(
  call: CheckedCall,
  response: Response,
  encoding: string,
): Promise<void> {
  if (/^(gzip|br)?$/.test(encoding)) return;
  await response.body?.cancel();
  const what = call.secrets.quote(encoding, 80);
  throw call.errors.unusable(response, {
    problem: `it is encoded with ${what}, and was not saved`,
    fix: "ask the support channel of your subscription for files without this encoding",
  });
}
