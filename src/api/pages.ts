/** Recognizes web pages, which proxies and login pages send instead of a response of the API. */

/** Whether a text begins as an HTML page. */
export function isPage(text: string): boolean {
  return /^<(!doctype\s*html|html)\b/i.test(withoutPreamble(text));
}

/** Whether a text declared as HTML begins as a page or a part of one, such as a form. */
export function isMarkup(text: string): boolean {
  return isPage(text) || FIRST_TAG.test(withoutPreamble(text));
}

/** The tags that a page without a doctype begins with; a comment that does not end in what was read. */
const FIRST_TAG =
  /^<(!--|\?|(head|title|meta|link|style|script|noscript|base|body|header|main|section|nav|form|div|span|center|iframe|h[1-6]|table|font|img|br|p|a|b)[\s/>])/i;

/** The beginning of a text without the blanks, XML declaration and comments before its first tag. */
function withoutPreamble(text: string): string {
  // The pattern needs memory for each blank.
  return text.slice(0, 65_536).replace(/^(\s|<!--.*?-->|<\?.*?>)*/s, "");
}

/** Describes a page by its title. The pattern stops at the next tag, so that its time stays linear. */
export function pageText(html: string): string {
  const title = /<title[^<>]*>([^<]*)/i.exec(html)?.[1]?.trim();
  return `an HTML page${title ? ` with the title "${title}"` : ""}`;
}
