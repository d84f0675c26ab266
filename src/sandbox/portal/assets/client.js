// A page that the browser restores from its cache may show a session that has ended.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

const field = document.getElementById("token-text");
document.getElementById("copy-token")?.addEventListener("click", copyToken);
addEventListener("pagehide", closeManual);

async function copyToken() {
  closeManual();
  const pending = fetchToken();
  try {
    await writeToClipboard(pending);
    show("copied", "Copied to the clipboard", validUntil(await pending));
  } catch {
    await pending.then(offerManually, ({ message }) => {
      show("trouble", "No token was copied", message);
    });
  }
}

function show(state, headline, detail) {
  document.getElementById("token").dataset.state = state;
  document.getElementById("token-headline").textContent = headline;
  document.getElementById("token-detail").textContent = detail;
}

function closeManual() {
  if (!field) return;
  field.value = "";
  field.parentElement.hidden = true;
}

function offerManually(issued) {
  field.value = issued.text;
  field.parentElement.hidden = false;
  const keys = /Mac|iPhone|iPad/.test(navigator.platform) ? "Cmd+C" : "Ctrl+C";
  const detail = `The browser did not allow the page to copy the token. ${validUntil(issued)}`;
  show("trouble", `Press ${keys} to copy the token`, detail);
  field.focus();
  field.select();
  field.oncopy = () =>
    setTimeout(() => {
      closeManual();
      show("copied", "Copied to the clipboard", validUntil(issued));
    });
}

async function fetchToken() {
  const response = await fetch("/token", { method: "POST" }).catch(() => {
    throw new Error("The portal did not respond. Check that the sandbox is still running.");
  });
  // The session has ended, so the redirect leads to the login page.
  if (response.redirected) location.assign(response.url);
  else if (response.ok) return await response.json();
  throw new Error(`The portal responded with status ${response.status}. Try again.`);
}

async function writeToClipboard(pending) {
  if (!navigator.clipboard?.write) throw new Error("This page is not allowed to use the clipboard");
  // Some browsers allow writing only during the click, so the promise is passed on without awaiting
  // it.
  const blob = pending.then(({ text }) => new Blob([text], { type: "text/plain" }));
  await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}

function validUntil({ expiresAt }) {
  const time = new Date(expiresAt).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
  return `Valid until ${time}.`;
}
