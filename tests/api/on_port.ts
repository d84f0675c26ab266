import type { SessionOptions } from "../../mod.ts";
import { type Portless, signedIn } from "../support/portless.ts";

/** A session whose API is a server on a port. Its provider needs no port. */
export function signedInAt(origin: string, more: SessionOptions = {}): Promise<Portless> {
  return signedIn({ session: { apiBaseUrl: origin, ...more }, api: (request) => fetch(request) });
}
