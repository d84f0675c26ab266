import { type AuthenticatorKey, keyText } from "../session/challenges/challenge.ts";
import { ConfigError } from "../errors/errors.ts";
import { loadPackage } from "../platform/packages.ts";

/** The package that draws QR codes. */
const QR_PACKAGE = "npm:uqr@0.1.3";

/**
 * Shows a key at once, as an output of the running cell.
 *
 * @returns A function that removes the key from the output, and thus from the notebook's file.
 */
export async function showKey(key: AuthenticatorKey): Promise<() => Promise<void>> {
  const display_id = crypto.randomUUID();
  await Deno.jupyter.display(await bundleOf(key), { raw: true, display_id });
  const removed = { "text/plain": "The key for the authenticator app was shown here." };
  return async () => {
    await Deno.jupyter.display(removed, { raw: true, display_id, update: true });
  };
}

async function bundleOf(key: AuthenticatorKey): Promise<Record<string, string>> {
  const { keyCard } = await import("./card.ts");
  return { "text/plain": keyText(key), "text/html": keyCard(key, await pictureOf(key.address)) };
}

/**
 * Draws the address as a QR code. Returns `undefined` if the package cannot be fetched, so that the
 * user types the key instead.
 */
async function pictureOf(address: string): Promise<string | undefined> {
  try {
    const { renderSVG } = await loadPackage("draw a QR code", QR_PACKAGE);
    // Scanners need a margin around the code, especially on a dark page.
    return renderSVG(address, { border: 4 });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return undefined;
  }
}
