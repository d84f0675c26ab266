import type { Diagnosis } from "./diagnosis.ts";
import type { SessionStatus } from "../session/status.ts";
import { diagnosisText, statusText } from "./status_text.ts";

/** Makes a status show as a card in a notebook and as its text in a terminal. */
export function displayable(status: SessionStatus): SessionStatus {
  return shown(status, () => statusText(status), (card) => card.statusCard(status));
}

/** Makes a diagnosis show as a card in a notebook and as its text in a terminal. */
export function displayableDiagnosis(diagnosis: Diagnosis): Diagnosis {
  return shown(
    diagnosis,
    () => diagnosisText(diagnosis),
    (card) => card.diagnosisCard(diagnosis),
  );
}

/**
 * The notebook's way is asynchronous and holds the kernel up a little, because a value that is sent
 * after the cell's end can be lost.
 */
function shown<T extends object>(
  value: T,
  text: () => string,
  html: (card: typeof import("./card.ts")) => string,
): T {
  return Object.defineProperties(value, {
    [Symbol.for("Deno.customInspect")]: { value: text },
    [Symbol.for("Jupyter.display")]: {
      value: async () => {
        const card = await import("./card.ts");
        await new Promise((resolve) => setTimeout(resolve, 0));
        holdUp();
        return { "text/plain": text(), "text/html": html(card) };
      },
    },
  });
}

/**
 * The kernel hands a cell's value to another thread, which sends it, and then says that the cell is
 * done; on a busy machine the second overtakes the first. Which of the next steps lies between the
 * two cannot be known from here, so each is made to last a little.
 */
async function holdUp(): Promise<void> {
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (let step = 0; step < 8; step++) {
    await undefined;
    Atomics.wait(never, 0, 0, 2);
  }
}
