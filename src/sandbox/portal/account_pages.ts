import { type Html, html } from "./html.ts";
import { accountNav, FOOTER, ICONS, layout, topBar } from "./layout.ts";

/** The code that an authenticator shows. */
export interface ShownCode {
  code: string;
  /** Until the next code, in seconds. */
  secondsLeft: number;
}

/** A message to a user. */
export interface PortalMessage {
  medium: "EMAIL" | "SMS";
  destination: string;
  code: string;
  at: Date;
}

/** What the authenticator page shows. */
export interface AuthenticatorView {
  platformName: string;
  csrf: string;
  /** Undefined: no authenticator is set up. */
  shown: ShownCode | undefined;
  /** Why the last text could not be used. */
  error?: string;
}

function page(title: string, path: string, platformName: string, lead: string, rest: Html): Html {
  const body = html`
    ${topBar(platformName)}
    <main class="account-page">
      ${accountNav(path)}
      <div class="intro">
        <h1>${title}</h1>
        <p class="lead">${lead}</p>
      </div>
      ${rest}
    </main>
    ${FOOTER}
  `;
  return layout(title, platformName, "page-message", body);
}

function codeCard(shown: ShownCode | undefined): Html {
  if (shown === undefined) {
    return html`
      <section class="card" aria-labelledby="code-title">
        <h2 id="code-title">No code yet</h2>
        <p>When a login tells you a secret, paste it below, as you would scan it with a phone.</p>
      </section>
    `;
  }
  const { code, secondsLeft } = shown;
  return html`
    <section class="card" aria-labelledby="code-title">
      <h2 id="code-title">Your code now</h2>
      <p class="code" id="code">${code}</p>
      <p id="code-detail">The next one comes in ${secondsLeft} s. Each code works once.</p>
      <progress class="needs-script" id="code-left" max="30" value="${secondsLeft}"
        aria-label="Time until the next code"></progress>
      <noscript><p>Load the page again to see the next one.</p></noscript>
    </section>
  `;
}

/** The page in place of the app on a phone. The secret that was pasted is never shown again. */
export function renderAuthenticator({ platformName, csrf, shown, error }: AuthenticatorView): Html {
  const invalid = error && html`aria-invalid="true" aria-describedby="error" autofocus`;
  return page(
    error ? "Authenticator: not set up" : "Authenticator",
    "/authenticator",
    platformName,
    "It does what an authenticator app does on a phone.",
    html`
      ${codeCard(shown)}
      <section class="card" aria-labelledby="setup-title">
        <h2 id="setup-title">Set up</h2>
        ${error &&
          html`<div class="note note-error" id="error" role="alert">${ICONS.alert}<p>${error}</p></div>`}
        <form method="post" action="/authenticator" class="form">
          <input type="hidden" name="csrf" value="${csrf}">
          <div class="field">
            <label for="secret">Secret, or otpauth address</label>
            <input id="secret" name="secret" autocomplete="off" autocapitalize="none"
              spellcheck="false" maxlength="500" required ${invalid}>
          </div>
          <button class="primary">Set up</button>
        </form>
        <p class="hint">It is kept until you sign out.</p>
      </section>
    `,
  );
}

/** The page in place of mail and phone. */
export function renderMessages(platformName: string, messages: readonly PortalMessage[]): Html {
  const list = messages.map(({ medium, destination, code, at }) =>
    html`
      <li>
        <p>
          ${medium === "SMS" ? "Text message" : "Mail"} to <strong>${destination}</strong>, <time
            datetime="${at.toISOString()}">${at.toISOString().slice(11, 19)} UTC</time>
        </p>
        <p>Your code is <strong class="code">${code}</strong></p>
      </li>
    `
  );
  return page(
    "Messages",
    "/messages",
    platformName,
    "What was sent to you by mail and phone, the newest first.",
    html`
      ${list.length === 0
        ? html`<p class="card">Nothing was sent to you yet.</p>`
        : html`<ul class="card list messages">${list}</ul>`}
      <p><a class="secondary" href="/messages">Look for new messages</a></p>
    `,
  );
}
