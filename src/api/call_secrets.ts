/** Removes the secrets of a request from a response, so that messages can quote the response. */
import type { ApiRequest } from "./request.ts";
import { parsedJson } from "../platform/json.ts";
import { quoted, Secret, withoutSecrets } from "../platform/secret.ts";
import type { Tokens } from "../provider/tokens.ts";

/** Minimum length of a value to look for. Shorter values appear in almost any text by chance. */
const SHORTEST_SECRET = 8;
/** The names of headers and query parameters whose values are secret. */
const SECRET_NAME =
  /signature|credential|token|secret|password|access-?key|api[-_]?key|authorization|cookie|^(sig|key|code|auth)$/i;

/** The tokens of a call, and values in its headers, its address and the address of a redirect. */
export class CallSecrets {
  readonly #tokens = new Set<Secret>();
  /** The address of the last request. */
  #sentTo: string;

  constructor(private readonly request: ApiRequest) {
    this.#sentTo = request.address;
  }

  /** Remembers the address and the tokens of a request: messages must not quote them. */
  noteRequest(to: string, { accessToken, refreshToken }: Tokens): void {
    this.#sentTo = to;
    this.#tokens.add(accessToken);
    if (refreshToken) this.#tokens.add(refreshToken);
  }

  /** Returns a text of the API as a message quotes it: without secrets, in one short line. */
  quote(text: string, maxLength?: number): string {
    return quoted(text, this.#all(), maxLength);
  }

  /** Returns the beginning of a body without secrets, parsed if it is JSON. */
  removeFrom(body: string, maxLength: number): unknown {
    const json = parsedJson(body);
    // JSON is written again, because an escaped character could hide a secret.
    const text = json === undefined ? body : JSON.stringify(json);
    const shown = withoutSecrets(text, this.#all()).slice(0, maxLength);
    const value = parsedJson(shown);
    return value === undefined ? shown : value;
  }

  #all(): Secret[] {
    const { address, headers } = this.request;
    const given = [...parametersOf(address), ...headers]
      .filter(([name]) => SECRET_NAME.test(name));
    // The address of a redirect comes from the API, so each of its parameters may be a secret.
    const redirected = this.#sentTo === address ? [] : parametersOf(this.#sentTo);
    const values = [...given, ...redirected].filter(([, value]) => value.length >= SHORTEST_SECRET);
    return [...this.#tokens, ...values.map(([, value]) => new Secret(value))];
  }
}

/** Returns the parameters of an address, both as they are written there and decoded. */
function parametersOf(address: string): (readonly [name: string, value: string])[] {
  return new URL(address).search.slice(1).split("&").flatMap((written) => {
    const encoded = written.replace(/^[^=]*=/, "");
    return [...new URLSearchParams(written)]
      .flatMap(([name, value]) => [[name, encoded], [name, value]] as const);
  });
}
