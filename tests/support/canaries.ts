/**
 * Secrets made for one run, and ways to find them where they must not appear. The folder `support/`
 * contains the code that tests share: sandboxes without a port, canned responses, child processes,
 * clocks, terminals.
 */
import { assert } from "@std/assert";
import { computeSecretHash, type SessionOptions } from "../../mod.ts";
import { jwt, tokenAnswer, TOKENS } from "./answers.ts";

/** A text shows a secret if it contains this many consecutive characters of it, or all of a shorter one. */
const TELLING = 8;

/**
 * The first part of a secret that a text repeats: eight characters of the secret or of its base64, or
 * all of a shorter secret, such as a code.
 * The case of letters does not matter, because host names become lower case.
 */
export function repeatedPart(text: string, secrets: readonly string[]): string | undefined {
  const shown = text.toLowerCase();
  for (const secret of secrets) {
    for (const spelled of spellings(secret)) {
      const length = Math.min(TELLING, spelled.length);
      assert(length > 0, "an empty text is no secret");
      for (let at = 0; at + length <= spelled.length; at++) {
        const part = spelled.slice(at, at + length);
        if (shown.includes(part)) return part;
      }
    }
  }
  return undefined;
}

function spellings(secret: string): string[] {
  const base64 = new TextEncoder().encode(secret).toBase64();
  return [secret, base64].map((text) => text.toLowerCase());
}

/** All texts that can show a value: printed, serialized or spread, with its causes and its card. */
export async function shownBy(value: unknown): Promise<string> {
  const seen = new Set<unknown>();
  const texts: string[] = [];
  for (let one: unknown = value; one !== undefined && !seen.has(one);) {
    seen.add(one);
    texts.push(
      ...[textOf(one), JSON.stringify(one) ?? "", Deno.inspect(one)],
      Deno.inspect(one, { depth: 100, showHidden: true, getters: true, strAbbreviateSize: 1e6 }),
    );
    if (typeof one === "object" && one !== null) {
      // A copy without the methods that control how the value is displayed.
      const plain = Object.fromEntries(
        Object.entries(Object.getOwnPropertyDescriptors(one)).map(([key, it]) => [key, it.value]),
      );
      texts.push(Deno.inspect(plain, { depth: 100, showHidden: true }), JSON.stringify(plain));
      const display = Reflect.get(one, Symbol.for("Jupyter.display"));
      if (typeof display === "function") texts.push(JSON.stringify(await display.call(one)));
    }
    texts.push(one instanceof Error ? `${one.message}\n${one.stack}` : "");
    one = one instanceof Error ? one.cause : undefined;
  }
  return texts.join("\n");
}

/** Secrets that must not be visible, different in each run. */
function plant() {
  const random = () =>
    crypto.getRandomValues(new Uint8Array(24)).toBase64({ alphabet: "base64url" });
  const claims = { sub: "a-user", username: "ada", client_id: "example-client", jti: random() };
  return {
    password: `pw ${random()}`,
    clientSecret: random(),
    accessToken: jwt(claims, random()),
    refreshToken: random(),
    stepSession: random(),
    newPassword: `Np1! ${random()}`,
    // Longer than a real code, because a real one could occur in other text by chance.
    code: random().replace(/\W/g, ""),
    authenticatorKey: `MFRGGZDF${
      [...random()].map((it) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[it.charCodeAt(0) % 32]).join("")
    }`,
    deviceKey: `eu-west-1_${random()}`,
    devicePassword: crypto.getRandomValues(new Uint8Array(40)).toBase64(),
  };
}

export const canaries = plant();
const SECRETS = [
  ...Object.values(canaries),
  ...await Promise.all(
    ["ada", "a-user"].map((name) =>
      computeSecretHash(name, "example-client", canaries.clientSecret)
    ),
  ),
  // The header of a token and the region of a device are not secret: they are always the same.
].map((text) => text.replace(/^eyJ[\w-]+\.|^eu-west-1_/, ""));

/** Fails if any text that shows the value repeats a part of a canary. */
export async function assertHides(value: unknown, what: string): Promise<void> {
  const part = repeatedPart(await shownBy(value), SECRETS);
  assert(part === undefined, `${what} shows ${part}`);
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "a value without text, such as a module";
  }
}

/** Settings with the canaries. */
export const SETTINGS = {
  authUrl: "https://provider.example",
  clientId: "example-client",
  clientSecret: canaries.clientSecret,
  userPoolId: "example_Pool",
  username: "ada",
  password: canaries.password,
  apiBaseUrl: "https://api.example",
} satisfies SessionOptions;

/** A response of the provider with the canary tokens. */
export function issued(): Response {
  const { accessToken, refreshToken } = canaries;
  return tokenAnswer({ ...TOKENS, AccessToken: accessToken, RefreshToken: refreshToken });
}

/** The lines of a `.env` with the canary tokens. */
export function tokenLines(more = ""): string {
  return `ACCESS_TOKEN=${canaries.accessToken}\nREFRESH_TOKEN=${canaries.refreshToken}\n${more}`;
}
