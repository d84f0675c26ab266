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

/** The secrets of a call: its tokens, and values in its headers, its address and redirects. */
export class CallSecrets {
  /** The tokens sent so far. */
  readonly tokens = new Set<Tokens>();

  constructor(readonly request: ApiRequest) {}

  /**
   * Shortens the API's text so that a message can quote it. Withholds the text if it repeats a
   * secret.
   */
  quote(text: string, response: Response, maxLength?: number): string {
    return redact(text, this.#in(response), maxLength);
  }

  /** Returns a body, parsed if it is JSON, with the secrets removed that it repeats. */
  removeFrom(body: string, response: Response): unknown {
    const cut = secretCutter(this.#in(response));
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

  #in(response: Response): Secret[] {
    const { address, headers } = this.request;
    const tokens = [...this.tokens].flatMap(({ accessToken, refreshToken }) =>
      refreshToken ? [accessToken, refreshToken] : [accessToken]
    );
    const redirected = response.redirected ? [...new URL(response.url).searchParams] : [];
    const given = [...new URL(address).searchParams, ...headers]
      .filter(([name]) => SECRET_NAME.test(name));
    const values = [...given, ...redirected].map(([, value]) => value)
      .filter((value) => value.length >= SHORTEST_SECRET);
    return [...tokens, ...values.map((value) => new Secret(value))];
  }
}
