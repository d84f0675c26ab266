/** A `fetch`, and sessions with it, that returns prepared responses and records the requests. */
import { createSession, type SessionOptions } from "../../mod.ts";
import { SETTINGS } from "./canaries.ts";
import { Clock } from "./clock.ts";

/** A request that the client sent. */
export interface Asked {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
  readonly redirect: RequestRedirect | undefined;
}

/** A response, or a function that returns one or throws as `fetch` does. */
export type Canned = Response | ((asked: Asked) => Response | Promise<Response>);

export interface CannedFetch {
  readonly fetch: typeof fetch;
  /** The requests so far, oldest first. */
  readonly asked: Asked[];
}

/** Returns the responses in turn, then the last one repeatedly. */
export function cannedFetch(...answers: [Canned, ...Canned[]]): CannedFetch {
  const asked: Asked[] = [];
  return {
    asked,
    fetch: async (input, init) => {
      const request: Asked = {
        url: input instanceof Request ? input.url : String(input),
        headers: new Headers(init?.headers),
        body: typeof init?.body === "string" ? init.body : "",
        redirect: init?.redirect,
      };
      const answer = answers[Math.min(asked.length, answers.length - 1)] ?? answers[0];
      asked.push(request);
      return typeof answer === "function" ? await answer(request) : answer.clone();
    },
  };
}

/** A session whose provider returns these responses, on a clock that does not move by itself. */
export function cannedSession(options: SessionOptions, ...answers: [Canned, ...Canned[]]) {
  const time = new Clock();
  const { asked, fetch } = cannedFetch(...answers);
  const session = createSession({ ...SETTINGS, ...time.options, fetch, ...options });
  return { session, asked, time };
}
