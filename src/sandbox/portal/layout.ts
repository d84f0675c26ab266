import { html } from "npm:hono@4.13.19/html";
import { PLATFORM_NAME } from "../options.ts";

/** Markup in which every inserted string is escaped. */
export type Html = ReturnType<typeof html>;

function icon(paths: Html): Html {
  return html`
    <svg
      class="icon"
      viewBox="0 0 20 20"
      width="20"
      height="20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >${paths}</svg>
  `;
}

/** Line drawings in the color of the text. */
export const ICONS = {
  alert: icon(html`
    <circle cx="10" cy="10" r="7.5" />
    <path d="M10 6.2v4.4M10 13.6v.1" />
  `),
  check: icon(html`
    <circle cx="10" cy="10" r="7.5" />
    <path d="m6.8 10.2 2.2 2.3 4.2-4.8" />
  `),
  tick: icon(html`
    <path d="m5 10.6 3.3 3.4L15 6.8" />
  `),
  chevron: icon(html`
    <path d="m6 8 4 4 4-4" />
  `),
  copy: icon(
    html`
      <rect x="7" y="7" width="9.5" height="9.5" rx="2" />
      <path d="M4.5 13H4a1.5 1.5 0 0 1-1.5-1.5V4A1.5 1.5 0 0 1 4 2.5h7.5A1.5 1.5 0 0 1 13 4v.5" />
    `,
  ),
  key: icon(html`
    <circle cx="7" cy="13" r="3.5" />
    <path d="m9.6 10.4 6.9-6.9M13.5 6.5l2.5 2.5" />
  `),
  signOut: icon(html`
    <path d="M8 3H5a2 2 0 0 0-2 2v10a2 2 0 0 0 2 2h3M13 13.5l3.5-3.5L13 6.5M16.5 10H8" />
  `),
};

/** Logo and name of the platform. */
export const BRAND = html`
  <img class="mark" src="/assets/mark.svg" alt="" width="32" height="32"><span>${PLATFORM_NAME}</span>
`;

/** The bar at the top of a page; `end` is placed at its right end. */
export function topBar(end?: Html): Html {
  return html`
    <header class="top">
      <a class="brand" href="/">${BRAND}</a>
      <span class="environment">Sandbox</span>
      ${end}
    </header>
  `;
}

const PAGES = [["/", "Data sets"], ["/authenticator", "Authenticator"], ["/messages", "Messages"]];

/** Links between the pages of a signed-in user. */
export function pageLinks(current: string): Html {
  const links = PAGES.map(([path, name]) =>
    html`<a href="${path}" ${path === current && html`aria-current="page"`}>${name}</a>`
  );
  return html`<nav class="page-links" aria-label="Pages">${links}</nav>`;
}

/** A whole page. */
export interface Page {
  title: string;
  /** Default: the top bar. */
  header?: Html;
  main: Html;
  /** CSS class of `<body>`. */
  kind?: "page" | "page-login";
}

/** The markup that all pages share. */
export function layout({ title, header = topBar(), main, kind = "page" }: Page): Html {
  return html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>${title} · ${PLATFORM_NAME}</title>
        <link rel="icon" href="/assets/mark.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/assets/portal.css">
        <script type="module" src="/assets/portal.js"></script>
      </head>
      <body class="${kind}">
        ${header} ${main}
        <footer class="footer">
          <p>Sandbox on this computer. All people, places and numbers in it are made up.</p>
        </footer>
      </body>
    </html>
  `;
}

/** A page with only a message, such as "not found". */
export function messagePage(status: number, title: string, text: string): Html {
  const main = html`
    <main class="message">
      <p class="status">${status}</p>
      <h1>${title}</h1>
      <p class="lead">${text}</p>
      <p><a class="primary" href="/">Go to the start page</a></p>
    </main>
  `;
  return layout({ title, main });
}
