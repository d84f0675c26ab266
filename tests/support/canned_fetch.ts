/** A `fetch` that gives prepared answers and keeps what it was asked. */

/** What a client asked. */
export interface Asked {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
  readonly redirect: RequestRedirect | undefined;
}

/** Gives an answer, or throws as `fetch` does. */
export type Canned = (asked: Asked) => Response | Promise<Response>;

export interface CannedFetch {
  readonly fetch: typeof fetch;
  /** Oldest first. */
  readonly asked: Asked[];
}

/** Gives the answers in turn, then the last one again and again. */
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
      return await answer(request);
    },
  };
}

/** An answer of the token endpoint with a JSON body. */
export function jsonAnswer(
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): Canned {
  return () => new Response(JSON.stringify(body), { status, headers });
}

/** An error answer in the form that the real service has. */
export function errorAnswer(
  name: string,
  message: string,
  status = 400,
  headers: Record<string, string> = {},
): Canned {
  return jsonAnswer({ __type: name, message }, status, headers);
}

/** Tokens of the shape of section 2.2; opaque unless others are given. */
export function tokenAnswer(
  result: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Canned {
  return jsonAnswer(
    {
      AuthenticationResult: {
        AccessToken: "opaque-access-token",
        ExpiresIn: 1800,
        IdToken: "opaque-id-token",
        RefreshToken: "opaque-refresh-token",
        TokenType: "Bearer",
        ...result,
      },
      ChallengeParameters: {},
    },
    200,
    headers,
  );
}

/** Throws what the runtime's `fetch` throws when no connection could be made. */
export function refusedConnection(): never {
  throw new TypeError("error sending request for url (https://provider.example/)", {
    cause: new Error(
      "client error (Connect): tcp connect error: Connection refused (os error 111)",
    ),
  });
}

/** Throws what the runtime's `fetch` throws when a connection ends before the answer. */
export function brokenConnection(): never {
  throw new TypeError("error sending request for url (https://provider.example/)", {
    cause: new Error("client error (SendRequest): connection closed before message completed"),
  });
}
