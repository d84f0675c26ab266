/**
 * What POST /token answers.
 * @typedef {{ text: string, expiresAt: string, secondsLeft: number }} Issued
 */

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
function element(id, type) {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`The page has no #${id}`);
}

// A page that the browser restores from its memory may show a session that has ended.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

if (document.getElementById("reveal")) setUpReveal();
if (document.getElementById("menu")) {
  setUpMenu();
  setUpCopy();
}

if (document.getElementById("code")) setUpCode();

/** Shows the next code when the time of one is over. */
function setUpCode() {
  const code = element("code", HTMLElement);
  const detail = element("code-detail", HTMLElement);
  const left = element("code-left", HTMLProgressElement);
  let end = performance.now() + left.value * 1000;
  let asking = false;

  async function askNext() {
    asking = true;
    const response = await fetch("/authenticator/code").catch(() => undefined);
    if (response?.status === 401) location.reload();
    const next = response?.ok ? await response.json().catch(() => undefined) : undefined;
    if (next) {
      code.textContent = next.code;
      end = performance.now() + next.secondsLeft * 1000;
    }
    asking = false;
  }

  setInterval(() => {
    const seconds = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    left.value = seconds;
    detail.textContent = `The next one comes in ${seconds} s. Each code works once.`;
    if (seconds === 0 && !asking) askNext();
  }, 1000);
}

function setUpReveal() {
  const button = element("reveal", HTMLButtonElement);
  const password = element("password", HTMLInputElement);
  button.addEventListener("click", () => {
    const shown = password.type === "text";
    password.type = shown ? "password" : "text";
    if (button.firstElementChild) {
      button.firstElementChild.textContent = shown ? "Show" : "Hide";
    }
  });
  // Hide a shown password before it is sent: else the browser may save it as plain form text.
  password.form?.addEventListener("submit", () => password.type = "password");
}

/** The menu button pattern of the ARIA Authoring Practices. */
function setUpMenu() {
  const button = element("menu-button", HTMLButtonElement);
  const popover = element("menu-popover", HTMLElement);
  const menu = element("menu", HTMLElement);
  const items = [...menu.querySelectorAll("button")];

  /** @param {number} index */
  function open(index) {
    popover.hidden = false;
    button.setAttribute("aria-expanded", "true");
    items.at(index)?.focus();
  }

  function close() {
    popover.hidden = true;
    button.setAttribute("aria-expanded", "false");
  }

  button.addEventListener("click", () => popover.hidden ? open(0) : close());
  button.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    open(event.key === "ArrowDown" ? 0 : -1);
  });

  menu.addEventListener("keydown", (event) => {
    const current = items.findIndex((item) => item === document.activeElement);
    const letter = event.key.toLowerCase();
    const byLetter = items.find((item) =>
      item.textContent?.trim().toLowerCase().startsWith(letter)
    );
    if (event.key === "ArrowDown") items[(current + 1) % items.length]?.focus();
    else if (event.key === "ArrowUp") items.at(current - 1)?.focus();
    else if (event.key === "Home") items[0]?.focus();
    else if (event.key === "End") items.at(-1)?.focus();
    else if (event.key.length === 1 && event.key !== " " && byLetter) byLetter.focus();
    else return;
    event.preventDefault();
  });

  popover.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" && event.key !== "Tab") return;
    button.focus(); // Tab moves on from here.
    close();
  });
  document.addEventListener("pointerdown", (event) => {
    const target = event.target;
    if (target instanceof Node && !popover.contains(target) && !button.contains(target)) close();
  });
  menu.addEventListener("click", () => {
    button.focus();
    close();
  });
}

function setUpCopy() {
  const card = element("token", HTMLElement);
  const headline = element("token-headline", HTMLElement);
  const detail = element("token-detail", HTMLElement);
  const left = element("token-left", HTMLProgressElement);
  const manual = element("token-manual", HTMLElement);
  const text = element("token-text", HTMLInputElement);
  const announcement = element("announcement", HTMLElement);
  const csrf = element("sign-out", HTMLFormElement).querySelector("input")?.value ?? "";
  let busy = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let ticking;

  /**
   * @param {"copied" | "trouble"} state
   * @param {string} title
   * @param {string} more
   */
  function show(state, title, more) {
    card.dataset.state = state;
    headline.textContent = title;
    detail.textContent = more;
    announcement.textContent = `${title}. ${more}`;
  }

  /** Counts down by elapsed time, as the clock of this computer may be wrong. @param {Issued} issued */
  function startCountdown(issued) {
    const start = performance.now();
    clearInterval(ticking);
    left.hidden = false;
    left.max = issued.secondsLeft;
    left.value = issued.secondsLeft;
    ticking = setInterval(() => {
      const seconds = issued.secondsLeft - (performance.now() - start) / 1000;
      left.value = Math.max(0, seconds);
      if (seconds > 0) {
        detail.textContent = goodUntil(issued.expiresAt, seconds);
        return;
      }
      clearInterval(ticking);
      closeManual();
      show("trouble", "The token has expired", "Copy a new one when you need it.");
    }, 5000);
  }

  function closeManual() {
    manual.hidden = true;
    text.value = "";
  }

  /** @param {Issued} issued */
  function copied(issued) {
    closeManual();
    show("copied", "Copied to the clipboard", goodUntil(issued.expiresAt, issued.secondsLeft));
    startCountdown(issued);
  }

  /** @param {Issued} issued */
  function offerManually(issued) {
    manual.hidden = false;
    text.value = issued.text;
    const keys = /Mac|iPhone|iPad/.test(navigator.platform) ? "Cmd+C" : "Ctrl+C";
    const until = goodUntil(issued.expiresAt, issued.secondsLeft);
    show(
      "trouble",
      `Press ${keys} to copy the token`,
      `The browser did not allow it by itself. ${until}`,
    );
    text.focus();
    text.select();
    text.scrollLeft = 0;
    text.oncopy = () => setTimeout(() => copied(issued));
  }

  element("copy-token", HTMLButtonElement).addEventListener("click", async () => {
    if (busy) return;
    busy = true;
    clearInterval(ticking);
    closeManual();
    left.hidden = true;
    const pending = fetchToken(csrf);
    try {
      await writeToClipboard(pending);
      copied(await pending);
    } catch {
      await pending.then(offerManually, (error) => {
        show("trouble", "No token was copied", error.message);
      });
    }
    busy = false;
  });

  addEventListener("pagehide", closeManual);
}

/** @param {string} csrf @returns {Promise<Issued>} */
async function fetchToken(csrf) {
  const response = await fetch("/token", { method: "POST", headers: { "x-csrf-token": csrf } })
    .catch(() => {
      throw new Error("The portal did not answer. Check that the sandbox is still running.");
    });
  if (response.ok) return await response.json();
  if (response.status === 401 || response.status === 403) location.assign("/");
  throw new Error(`The portal answered with status ${response.status}. Try again.`);
}

/** @param {Promise<Issued>} pending */
async function writeToClipboard(pending) {
  if (!navigator.clipboard?.write) throw new Error("This page may not use the clipboard");
  // Some browsers allow this only during the click: so the promise is passed on, not awaited.
  const blob = pending.then(({ text }) => new Blob([text], { type: "text/plain" }));
  await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}

/** @param {string} expiresAt @param {number} seconds */
function goodUntil(expiresAt, seconds) {
  const date = new Date(expiresAt);
  const today = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleString([], {
    hour: "numeric",
    minute: "2-digit",
    ...(today ? {} : { day: "numeric", month: "short" }),
  });
  return `Good until ${time}, ${timeLeft(seconds)} left.`;
}

/** @param {number} seconds */
function timeLeft(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return "less than a minute";
  if (minutes < 120) return minutes === 1 ? "1 minute" : `${minutes} minutes`;
  return `${Math.floor(minutes / 60)} hours ${minutes % 60} minutes`;
}
