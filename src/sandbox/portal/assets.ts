import backdrop from "./assets/backdrop.svg" with { type: "text" };
import client from "./assets/client.js" with { type: "text" };
import home from "./assets/home.css" with { type: "text" };
import login from "./assets/login.css" with { type: "text" };
import mark from "./assets/mark.svg" with { type: "text" };
import theme from "./assets/theme.css" with { type: "text" };
import token from "./assets/token.css" with { type: "text" };

const style = theme + login + home + token;

/** Style sheet, script and pictures of the portal: path to text and content type. */
export const ASSETS: ReadonlyMap<string, { body: string; contentType: string }> = new Map([
  ["/assets/backdrop.svg", { body: backdrop, contentType: "image/svg+xml" }],
  ["/assets/mark.svg", { body: mark, contentType: "image/svg+xml" }],
  ["/assets/portal.css", { body: style, contentType: "text/css; charset=utf-8" }],
  ["/assets/portal.js", { body: client, contentType: "text/javascript; charset=utf-8" }],
]);
