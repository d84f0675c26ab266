import { html } from "npm:hono@4.13.19/html";
import type { SentCode } from "../identity_provider/challenges/sent_codes.ts";
import { type Html, ICONS, layout, pageLinks } from "./layout.ts";

function accountPage(title: string, path: string, lead: string, content: Html): Html {
  const main = html`
    <main class="account-page">
      ${pageLinks(path)}
      <div class="intro">
        <h1>${title}</h1>
        <p class="lead">${lead}</p>
      </div>
      ${content}
    </main>
  `;
  return layout({ title, main });
}

function codeCard(code: string | undefined): Html {
  return code === undefined
    ? html`
      <section class="card" aria-labelledby="code-title">
        <h2 id="code-title">No code yet</h2>
        <p>When a login shows a secret to set up an authenticator app, paste it below.</p>
      </section>
    `
    : html`
      <section class="card" aria-labelledby="code-title">
        <h2 id="code-title">Your code now</h2>
        <p class="code" id="code">${code}</p>
        <p>Every 30 seconds, this page shows a new code. Each code works once.</p>
      </section>
    `;
}

/**
 * The page that replaces an authenticator app. The page never shows a secret that the user has
 * pasted.
 */
export function authenticatorPage(code: string | undefined, error?: string): Html {
  const invalid = error && html`aria-invalid="true" aria-describedby="error" autofocus`;
  return accountPage(
    error ? "Authenticator: not set up" : "Authenticator",
    "/authenticator",
    "This page shows the codes that an authenticator app shows on a phone.",
    html`
      ${codeCard(code)}
      <section class="card" aria-labelledby="setup-title">
        <h2 id="setup-title">Set up</h2>
        ${error &&
          html`<div class="note note-error" id="error" role="alert">${ICONS.alert}<p>${error}</p></div>`}
        <form method="post" action="/authenticator" class="form">
          <div class="field">
            <label for="secret">Secret, or otpauth address</label>
            <input id="secret" name="secret" autocomplete="off" autocapitalize="none"
              spellcheck="false" maxlength="500" required ${invalid}>
          </div>
          <button class="primary">Set up</button>
        </form>
        <p class="hint">The portal keeps the secret until you sign out.</p>
      </section>
    `,
  );
}

/** The page that replaces a mailbox and a phone. */
export function messagesPage(messages: readonly SentCode[]): Html {
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
  return accountPage(
    "Messages",
    "/messages",
    "Codes sent to you by mail and phone, newest first.",
    html`
      ${list.length === 0
        ? html`<p class="card">No messages yet.</p>`
        : html`<ul class="card list messages">${list}</ul>`}
      <p><a class="secondary" href="/messages">Check for new messages</a></p>
    `,
  );
}
