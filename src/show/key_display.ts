import { type AuthenticatorKey, keyText } from "../session/challenges/challenge.ts";
import { ConfigError } from "../errors/errors.ts";
import { inKernel } from "../errors/advice.ts";
import { unlessAborted } from "../platform/abort.ts";
import { loadPackage } from "../platform/packages.ts";
import { isDumbTerminal, terminalColumns } from "../platform/terminal.ts";

/** The package that draws QR codes. */
const QR_PACKAGE = "npm:uqr@0.1.3";

/** Time limit for loading the package, because a firewall may drop the request. */
const LOAD_MS = 5_000;

/**
 * Shows a key at once: as an output of the running cell, or as a QR code in the terminal.
 *
 * @returns A function that removes the key from the output, and thus from the notebook's file.
 */
export async function showKey(key: AuthenticatorKey): Promise<() => Promise<void>> {
  if (!inKernel()) {
    await drawInTerminal(key.address);
    return async () => {};
  }
  const display_id = crypto.randomUUID();
  await Deno.jupyter.display(await bundleOf(key), { raw: true, display_id });
  const removed = { "text/plain": "The key for the authenticator app was shown here." };
  return async () => {
    await Deno.jupyter.display(removed, { raw: true, display_id, update: true });
  };
}

async function bundleOf(key: AuthenticatorKey): Promise<Record<string, string>> {
  const { keyCard } = await import("./card.ts");
  return {
    "text/plain": keyText(key),
    "text/html": keyCard(key, await pictureOf(key.address, "renderSVG")),
  };
}

/** Draws the address as a QR code in a terminal that is wide enough. */
async function drawInTerminal(address: string): Promise<void> {
  if (isDumbTerminal()) return;
  const lines = (await pictureOf(address, "renderUnicodeCompact"))?.split("\n") ?? [];
  if (lines.length === 0 || (lines[0] ?? "").length > terminalColumns()) return;
  // The characters draw the white parts of the code. Both colors are set, because some terminals
  // have a white background.
  const picture = lines.map((line) => `\u001b[97;40m${line}\u001b[0m\n`).join("");
  Deno.stdout.writeSync(new TextEncoder().encode(picture));
}

/**
 * Draws the address as a QR code. Returns `undefined` if the package cannot be fetched in time, so
 * that the user types the key instead.
 */
async function pictureOf(
  address: string,
  form: "renderSVG" | "renderUnicodeCompact",
): Promise<string | undefined> {
  const limit = AbortSignal.timeout(LOAD_MS);
  try {
    const drawing = await unlessAborted(limit, loadPackage("draw a QR code", QR_PACKAGE));
    // Scanners need a margin around the code, especially on a dark page.
    return drawing[form](address, { border: 4 });
  } catch (error) {
    if (!limit.aborted && !(error instanceof ConfigError)) throw error;
    return undefined;
  }
}
