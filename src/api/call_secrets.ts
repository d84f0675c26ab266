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
  readonly #given: readonly Secret[];
  readonly #tokens = new Set<Secret>();
  #redirected: readonly Secret[] = [];

  constructor({ address, headers }: ApiRequest) {
    const values = [...new URL(address).searchParams, ...headers];
    this.#given = secretsIn(values.filter(([name]) => SECRET_NAME.test(name)));
  }

  /** Adds tokens that the call sends. */
  add({ accessToken, refreshToken }: Tokens): void {
    this.#tokens.add(accessToken);
    if (refreshToken) this.#tokens.add(refreshToken);
  }

  /** Adds the values in the address of the last response, if a redirect led to the address. */
  noteResponse({ redirected, url }: Response): void {
    const query = redirected ? URL.parse(url)?.searchParams : undefined;
    this.#redirected = secretsIn([...query ?? []]);
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
    return [...this.#tokens, ...this.#given, ...this.#redirected];
  }
}

function secretsIn(values: readonly [name: string, value: string][]): Secret[] {
  return values.filter(([, value]) => value.length >= SHORTEST_SECRET)
    .map(([, value]) => new Secret(value));
}
