/** Recognizes web pages that proxies and login servers send instead of the API's response. */
import { isText } from "./charset.ts";

/** Whether a text is an HTML page, perhaps after comments, or a part of a page such as a form. */
export function isPage(text: string): boolean {
  return /^\s*</.test(text) && /<(!doctype\s+html|html|head|form)\b/i.test(text);
}

/**
 * Describes a page by its title. The pattern stops at the next tag, so that its running time is
 * linear.
 */
export function pageText(html: string): string {
  const title = /<title[^<>]*>([^<]*)/i.exec(html)?.[1]?.trim() ?? "";
  return `an HTML page${title && isText(title) ? ` with the title "${title}"` : ""}`;
}
