/** Sends the requests of `fetchJson()` and downloads, and ends them if no data arrives. */
import type { ApiAccount } from "./account.ts";
import { fetchWithToken } from "./auth_fetch.ts";
import { CallErrors, MAX_BYTES_READ } from "./call_errors.ts";
import { CallSecrets } from "./call_secrets.ts";
import { lenientText } from "./charset.ts";
import type { OnSend } from "./prepared_call.ts";
import { type ApiRequest, requestOf } from "./request.ts";
import { unlessAborted } from "../platform/abort.ts";
import { readUpTo } from "../platform/body.ts";
import { IdleWatch, Stalled } from "./idle.ts";
import type { ApiError } from "../errors/errors.ts";

/**
 * A call whose response is checked by this module, not by the user. It can send its request several
 * times, and ends a request if no data arrives for too long.
 */
export class CheckedCall {
  readonly request: ApiRequest;
  readonly secrets: CallSecrets;
  readonly errors: CallErrors;
  /** The address of the last request. After a redirect, it is not the address of the call. */
  sentTo: string;
  #watch: IdleWatch | undefined;

  /**
   * @param idleMs From `idleTimeout()`.
   * @throws {TypeError | ConfigError} As `requestOf()`.
   */
  constructor(
    readonly account: ApiAccount,
    input: string | URL | Request,
    init: RequestInit,
    readonly signal: AbortSignal | undefined,
    private readonly idleMs: number,
  ) {
    this.request = requestOf(account, input, init);
    this.secrets = new CallSecrets(this.request);
    this.errors = new CallErrors(account, this.request, this.secrets);
    this.sentTo = this.request.address;
  }

  /**
   * @param attempt The number of the caller's attempt, for the log.
   * @throws {Stalled} If no response arrives in time.
   */
  async send(headers: HeadersInit, attempt = 1): Promise<Response> {
    this.release();
    const { input, init } = this.request;
    const watch = this.#watch = new IdleWatch(this.account.world, this.idleMs, this.signal);
    try {
      const noteRequest: OnSend = (to, tokens) => {
        this.sentTo = to;
        this.secrets.noteRequest(to, tokens);
        watch.begin();
      };
      const sent = fetchWithToken(
        this.account,
        input,
        { ...init, headers },
        watch.signal,
        noteRequest,
        attempt,
      );
      return await unlessAborted(watch.signal, sent);
    } finally {
      watch.pause();
    }
  }

  /**
   * Waits for more data from the last response.
   * @throws {Stalled} If no data arrives in time.
   */
  async more<T>(read: Promise<T>): Promise<T> {
    return await (this.#watch?.during(read) ?? read);
  }

  /** Stops monitoring the last response. */
  release(): void {
    this.#watch?.release();
  }

  /**
   * Returns a whole body.
   * @throws {Stalled} If the API stops sending data.
   * @throws {ApiError} `API_BODY` if the body breaks off.
   */
  async bytes(response: Response): Promise<Uint8Array> {
    const read = <T>(piece: Promise<T>) =>
      this.more(piece).catch((cause) => {
        this.signal?.throwIfAborted();
        throw cause instanceof Stalled ? cause : this.errors.brokenOff(response, cause);
      });
    return (await readUpTo(response.body, Infinity, read)).bytes;
  }

  /** Returns the beginning of a body, even if the rest breaks off or stalls. */
  async beginningOf({ body, headers }: Response): Promise<string> {
    // deno-lint-ignore no-explicit-any -- the end of a stream has no value
    const end = (): any => ({ done: true });
    const read = <T>(piece: Promise<T>) => this.more(piece).catch<T>(end);
    const { bytes } = await readUpTo(body, MAX_BYTES_READ, read);
    this.signal?.throwIfAborted();
    return lenientText(bytes, headers).trim();
  }

  /** Returns the error for a response whose status is not 2xx. Reads the message in its body. */
  async refusal(response: Response, attempts: number): Promise<ApiError> {
    return this.errors.refused(response, await this.beginningOf(response), attempts);
  }
}
