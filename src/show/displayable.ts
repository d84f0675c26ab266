import type { Download } from "../api/download.ts";
import type { Downloads } from "../api/download_all.ts";
import { AuthError } from "../errors/errors.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { SessionStatus } from "../session/status.ts";
import { escapeHtml, printable } from "../errors/escape.ts";
import { diagnosisText, downloadsText, downloadText, statusText } from "./status_text.ts";

/** Makes a status show as a card in a notebook and as its text in a terminal. */
export function displayable(status: SessionStatus): SessionStatus {
  return shown(status, () => statusText(status), (card) => card.statusCard(status));
}

/** Makes a diagnosis show as a card in a notebook and as its text in a terminal. */
export function displayableDiagnosis(diagnosis: Diagnosis): Diagnosis {
  return shown(diagnosis, () => diagnosisText(diagnosis), (card) => card.diagnosisCard(diagnosis));
}

/** Makes a saved file show as a card in a notebook and as its text in a terminal. */
export function displayableDownload(download: Download): Download {
  return shown(download, () => downloadText(download), (card) => card.downloadCard(download));
}

/** Makes the result of many downloads show as a card in a notebook and as its text in a terminal. */
export function displayableDownloads(downloads: Downloads): Downloads {
  return shown(downloads, () => downloadsText(downloads), (card) => card.downloadsCard(downloads));
}

/** Makes a session show its status, as it is at that moment. */
export function displayableSession<T extends { status(): SessionStatus }>(session: T): T {
  return shown(
    session,
    () => ofStatus(session, statusText, printable),
    (card) => ofStatus(session, card.statusCard, escapeHtml),
  );
}

/** Something of the status; where the settings cannot be read, what is wrong with them. */
function ofStatus(
  session: { status(): SessionStatus },
  show: (status: SessionStatus) => string,
  tell: (problem: string) => string,
): string {
  try {
    return show(session.status());
  } catch (error) {
    if (error instanceof AuthError) return tell(error.message);
    throw error;
  }
}

/** Makes a value show as text and, in a notebook, as HTML. */
function shown<T extends object>(
  value: T,
  text: () => string,
  html: (card: typeof import("./card.ts")) => string,
): T {
  return Object.defineProperties(value, {
    [Symbol.for("Deno.customInspect")]: { value: text },
    [Symbol.for("Jupyter.display")]: {
      value: () =>
        delayedDisplay(async () => {
          const card = await import("./card.ts");
          return { "text/plain": text(), "text/html": html(card) };
        }),
    },
  });
}

/** Gives a notebook what it shows, with a delay: see {@linkcode delayNextSteps}. */
export async function delayedDisplay<T>(bundle: () => Promise<T>): Promise<T> {
  const made = await bundle();
  await new Promise((resolve) => setTimeout(resolve, 0));
  delayNextSteps();
  return made;
}

/**
 * The kernel passes a cell's value to another thread, which sends it, and then reports the end of the
 * cell. On a busy machine the report can arrive first, and the front end drops the value. It is not
 * known here which of the next steps is between the two, so each of them is delayed a little.
 */
async function delayNextSteps(): Promise<void> {
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (let step = 0; step < 8; step++) {
    await undefined;
    Atomics.wait(never, 0, 0, 2);
  }
}
