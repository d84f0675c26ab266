/** Withholds the secrets of a request from messages that quote the response. */
import type { ApiRequest } from "./request.ts";
import { parsedJson } from "../platform/json.ts";
import { redact, Secret, secretCutter } from "../platform/secret.ts";
import type { Tokens } from "../provider/tokens.ts";

/** Minimum length of a value to redact. Shorter values appear in almost any text by chance. */
const SHORTEST_SECRET = 8;
const SECRET_NAME =
  /signature|credential|token|secret|password|access-?key|api[-_]?key|authorization|cookie|^(sig|key|code|auth)$/i;
/** Matches the strings and numbers of a JSON text. */
const JSON_SCALARS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** The tokens of a call, and values in its headers, its address and the address of a redirect. */
export class CallSecrets {
  readonly #tokens = new Set<Secret>();
  /** The address of the last request. */
  #sentTo = "";

  constructor(private readonly request: ApiRequest) {}

  /** Notes a request of the call, which may be to the target of a redirect. */
  noteRequest(to: string, { accessToken, refreshToken }: Tokens): void {
    this.#sentTo = to;
    this.#tokens.add(accessToken);
    if (refreshToken) this.#tokens.add(refreshToken);
  }

  /**
   * Shortens the API's text so that a message can quote it. Withholds the text if it repeats a
   * secret.
   */
  quote(text: string, maxLength?: number): string {
    return redact(text, this.#all(), maxLength);
  }

  /** Returns a body, parsed if it is JSON, without the secrets that it repeats. */
  removeFrom(body: string): unknown {
    const cut = secretCutter(this.#all());
    if (parsedJson(body) === undefined) return cut(body);
    const json = body.replace(JSON_SCALARS, (scalar) => {
      // In JSON text, an escaped character could hide a secret from `cut()`, so strings are parsed
      // first.
      const value = scalar.startsWith('"') ? JSON.parse(scalar) : scalar;
      const shown = cut(value);
      return shown === value ? scalar : JSON.stringify(shown);
    });
    return JSON.parse(json);
  }

  #all(): Secret[] {
    const { address, headers } = this.request;
    const given = [...new URL(address).searchParams, ...headers]
      .filter(([name]) => SECRET_NAME.test(name));
    // The API chose the address of a redirect, so each of its parameters may be a secret.
    const redirectedTo = this.#sentTo === address ? null : URL.parse(this.#sentTo);
    const redirected = redirectedTo?.searchParams ?? [];
    const values = [...given, ...redirected].filter(([, value]) => value.length >= SHORTEST_SECRET);
    return [...this.#tokens, ...values.map(([, value]) => new Secret(value))];
  }
}
