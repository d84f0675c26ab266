import { type Html, html } from "./html.ts";
import { accountNav, FOOTER, ICONS, layout, topBar } from "./layout.ts";
import type { PortalSession } from "./sessions.ts";

/** What the page after the sign-in shows. */
export interface HomeView {
  platformName: string;
  /** Origin of the data platform API. */
  apiUrl: string;
  datasets: readonly Dataset[];
  session: PortalSession;
}

/** A data set to list. */
export interface Dataset {
  name: string;
  description: string;
  /** Path at the API. */
  path: string;
}

function userMenu({ displayName, csrf }: PortalSession): Html {
  const initial = [...displayName][0]?.toUpperCase() ?? "?";
  return html`
    <div class="account">
      <button type="button" class="account-button needs-script" id="menu-button" aria-haspopup="menu"
        aria-expanded="false" aria-controls="menu">
        <span class="avatar" aria-hidden="true">${initial}</span>
        <span class="account-name"><span class="visually-hidden">User menu of </span>${displayName}</span>
        ${ICONS.chevron}
      </button>
      <div class="popover" id="menu-popover" hidden>
        <p class="popover-head">Signed in as <strong>${displayName}</strong></p>
        <div role="menu" id="menu" aria-labelledby="menu-button">
          <button type="button" role="menuitem" tabindex="-1"
            id="copy-token">${ICONS.copy}Copy Token</button>
          <button type="submit" role="menuitem" tabindex="-1"
            form="sign-out">${ICONS.signOut}Sign out</button>
        </div>
      </div>
      <form method="post" action="/logout" id="sign-out">
        <input type="hidden" name="csrf" value="${csrf}">
        <noscript><button class="secondary">Sign out</button></noscript>
      </form>
    </div>
  `;
}

function tokenCard(examplePath: string): Html {
  const code = `await login({ strategy: "portal" })\nawait fetchJson("${examplePath}")`;
  const scriptIsOff = "Copy Token needs JavaScript, which is off in this browser.";
  return html`
    <section class="card token" id="token" data-state="idle" aria-labelledby="token-title">
      <div class="card-head">
        <span class="badge">${ICONS.key}${ICONS.tick}${ICONS.alert}</span>
        <h2 id="token-title">Access token</h2>
      </div>
      <p class="token-headline needs-script" id="token-headline">Nothing copied yet</p>
      <p class="token-detail needs-script" id="token-detail">
        Open the user menu at the upper right and choose <strong>Copy Token</strong>.
      </p>
      <progress id="token-left" aria-label="Lifetime of the token that is left" hidden></progress>
      <div class="field token-manual" id="token-manual" hidden>
        <label for="token-text">Token string</label>
        <input id="token-text" readonly autocomplete="off" spellcheck="false"
          aria-describedby="token-detail">
      </div>
      <noscript><p class="note">${ICONS.alert} <span>${scriptIsOff}</span></p></noscript>
      <p class="visually-hidden" id="announcement" role="status" aria-live="polite"></p>
      <div class="usage">
        <h3>Use it in a notebook</h3>
        <pre><code>${code}</code></pre>
        <p>
          Paste the string where the first line asks for it. It is as good as your password until it
          expires: keep it out of saved cells.
        </p>
      </div>
    </section>
  `;
}

/** Allows a line break before each slash of a long path, not at a hyphen. */
function breakAtSlashes(path: string): Html[] {
  return path.split(/(?=\/)/).map((part) => html`<wbr><span>${part}</span>`);
}

/** The page after the login. It has no token in it: the script fetches one for "Copy Token". */
export function renderHome({ platformName, apiUrl, datasets, session }: HomeView): Html {
  const count = datasets.length;
  const list = datasets.map(({ name, description, path }) =>
    html`
      <li class="dataset">
        <h2>${name}</h2>
        <p>${description}</p>
        <p class="endpoint"><span class="method">GET</span> <code>${breakAtSlashes(path)}</code></p>
      </li>
    `
  );
  const body = html`
    ${topBar(platformName, userMenu(session))}
    <main class="home">
      <div class="intro">
        <h1>Data sets</h1>
        <p class="lead">${count} ${count === 1
          ? "data set"
          : "data sets"} at <code>${apiUrl}</code></p>
        ${accountNav("/")}
      </div>
      ${tokenCard(datasets[0]?.path ?? "/")}
      <section class="datasets" aria-label="Data sets"><ul class="card list">${list}</ul></section>
    </main>
    ${FOOTER}
  `;
  return layout("Data sets", platformName, "page-home", body);
}
