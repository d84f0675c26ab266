/** Recognizes web pages that proxies and login servers send instead of the API's response. */
import { isText } from "./charset.ts";

/** Whether a text begins like an HTML page. */
export function isPage(text: string): boolean {
  return /^<(!doctype\s*html|html)\b/i.test(withoutPreamble(text));
}

/** Whether a text declared as HTML begins like a page or a part of a page, such as a form. */
export function isMarkup(text: string): boolean {
  return isPage(text) || FIRST_TAG.test(withoutPreamble(text));
}

/**
 * Matches the first tag of a page without a doctype. Also matches the beginning of a comment:
 * `withoutPreamble()` removes complete comments only, and this one may end after the bytes that
 * were read.
 */
const FIRST_TAG =
  /^<(!--|\?|(head|title|meta|link|style|script|noscript|base|body|header|main|section|nav|form|div|span|center|iframe|h[1-6]|table|font|img|br|p|a|b)[\s/>])/i;

/**
 * Returns the beginning of a text without the blanks, XML declaration and comments before its first
 * tag.
 */
function withoutPreamble(text: string): string {
  // The pattern needs memory for each blank that it matches, so it searches only the beginning of
  // the text.
  return text.slice(0, 65_536).replace(/^(\s|<!--.*?-->|<\?.*?>)*/s, "");
}

/**
 * Describes a page by its title. The pattern stops at the next tag, so that its running time is
 * linear.
 */
export function pageText(html: string): string {
  const title = /<title[^<>]*>([^<]*)/i.exec(html)?.[1]?.trim() ?? "";
  return `an HTML page${title && isText(title) ? ` with the title "${title}"` : ""}`;
}
