import type { SessionStatus } from "../session/status.ts";
import { statusView } from "./status_view.ts";
import { type View, viewText } from "./view.ts";

/** Makes a status show as a card in a notebook and as text in a terminal. */
export function displayable(status: SessionStatus): SessionStatus {
  return displayed(status, () => statusView(status));
}

/** Makes a value show as text and, in a notebook, as a card. */
export function displayed<T extends object>(value: T, view: () => View): T {
  return Object.defineProperties(value, {
    [Symbol.for("Deno.customInspect")]: { value: () => viewText(view()) },
    [Symbol.for("Jupyter.display")]: { value: () => bundleOf(view()) },
  });
}

async function bundleOf(view: View): Promise<Record<string, string>> {
  const { cardHtml } = await import("./card.ts");
  const bundle = { "text/plain": viewText(view), "text/html": cardHtml(view) };
  // The kernel sends the value and the end of the cell through separate channels. On a busy
  // machine, the end may arrive first, and the front end would then drop the value
  // (docs/notebooks.md).
  await new Promise((resolve) => setTimeout(resolve, 0));
  return bundle;
}
