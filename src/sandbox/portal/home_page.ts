import { html } from "npm:hono@4.13.19/html";
import { DATASETS } from "../data_api/data_api.ts";
import { type Html, ICONS, layout, pageLinks, topBar } from "./layout.ts";

function userMenu(name: string): Html {
  const [initial = "?"] = name.toUpperCase();
  return html`
    <button type="button" class="account-button" id="menu-button" popovertarget="menu">
      <span class="avatar" aria-hidden="true">${initial}</span>
      <span class="account-name"><span class="visually-hidden">User menu of </span>${name}</span>
      ${ICONS.chevron}
    </button>
    <div class="popover" id="menu" popover>
      <p class="popover-head">Signed in as <strong>${name}</strong></p>
      <button type="button" class="menu-item" id="copy-token" popovertarget="menu"
        popovertargetaction="hide">${ICONS.copy}Copy Token</button>
      <form method="post" action="/logout">
        <button class="menu-item">${ICONS.signOut}Sign out</button>
      </form>
    </div>
  `;
}

function tokenCard(): Html {
  const code = `await login({ strategy: "portal" })\nawait fetchJson("${DATASETS[0]?.path}")`;
  const scriptIsOff = "Copy Token needs JavaScript, which is off in this browser.";
  return html`
    <section class="card token" id="token" data-state="idle" aria-labelledby="token-title">
      <div class="card-head">
        <span class="badge">${ICONS.key}${ICONS.tick}${ICONS.alert}</span>
        <h2 id="token-title">Access token</h2>
      </div>
      <div role="status">
        <p class="token-headline" id="token-headline">Nothing copied yet</p>
        <p class="token-detail" id="token-detail">
          Open the user menu at the upper right and choose <strong>Copy Token</strong>.
        </p>
      </div>
      <div class="field token-manual" id="token-manual" hidden>
        <label for="token-text">Token string</label>
        <input id="token-text" readonly autocomplete="off" spellcheck="false"
          aria-describedby="token-detail">
      </div>
      <noscript><p class="note">${ICONS.alert} <span>${scriptIsOff}</span></p></noscript>
      <div class="usage">
        <h3>Use it in a notebook</h3>
        <pre><code>${code}</code></pre>
        <p>
          Paste the string at the prompt that the first line opens. Until the string expires, treat
          it as a password: keep it out of saved cells.
        </p>
      </div>
    </section>
  `;
}

/** Allows a line break before each slash of a long path, but not at a hyphen. */
function breakAtSlashes(path: string): Html[] {
  return path.split(/(?=\/)/).map((part) => html`<wbr><span>${part}</span>`);
}

/** The start page. It contains no token: the script fetches one for "Copy Token". */
export function homePage(displayName: string, apiUrl: string): Html {
  const list = DATASETS.map(({ name, description, path }) =>
    html`
      <li class="dataset">
        <h2>${name}</h2>
        <p>${description}</p>
        <p class="endpoint"><span class="method">GET</span> <code>${breakAtSlashes(path)}</code></p>
      </li>
    `
  );
  const main = html`
    <main class="home">
      <div class="intro">
        <h1>Data sets</h1>
        <p class="lead">${DATASETS.length} data sets at <code>${apiUrl}</code></p>
        ${pageLinks("/")}
      </div>
      ${tokenCard()}
      <section class="datasets" aria-label="Data sets"><ul class="card list">${list}</ul></section>
    </main>
  `;
  return layout({ title: "Data sets", header: topBar(userMenu(displayName)), main });
}
