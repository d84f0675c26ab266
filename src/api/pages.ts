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

/** A text without blanks, an XML declaration and comments before the first tag. */
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

/** Describes a page by its title. The pattern stops at the next tag, so that its time stays linear. */
export function pageText(html: string): string {
  const title = /<title[^<>]*>([^<]*)/i.exec(html)?.[1]?.trim();
  return `an HTML page${title ? ` with the title "${title}"` : ""}`;
}
