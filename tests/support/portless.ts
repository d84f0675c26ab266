import { Clock } from "./clock.ts";
import { isFile } from "./needs.ts";
import "./quick_signatures.ts";
import { createSession, type Session, type SessionOptions } from "../../mod.ts";
import { AccountSession } from "../../src/session.ts";
import type { World } from "../../src/platform/world.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../src/sandbox/mod.ts";

/** A request to the token endpoint, as it was sent. */
export interface Sent {
  /** The AuthFlow of an InitiateAuth request; the operation of any other request. */
  readonly flow: string;
  readonly clientId: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Options of a session, and the parts of the outside world that are not public options. */
export interface TestOptions extends SessionOptions {
  timeout?: World["timeout"] | undefined;
  random?: World["random"] | undefined;
}

/** Like `createSession()`, but a test may replace the timeouts and the random numbers. */
export function testSession({ timeout, random, ...options }: TestOptions): Session {
  if (timeout === undefined && random === undefined) return createSession(options);
  const world = { ...(timeout && { timeout }), ...(random && { random }) };
  return new AccountSession(options, false, world);
}

/** How a world differs from the usual one. */
export interface PortlessOptions {
  sandbox?: SandboxOptions;
  session?: TestOptions;
  /** Whether the session keeps its tokens in the sandbox's `.env`. Default: in memory only. */
  file?: boolean;
  /** Responds instead of the sandbox's token endpoint. */
  provider?: (sent: Sent, count: number) => Response | Promise<Response>;
  /** Responds instead of the sandbox's API. */
  api?: (request: Request, count: number) => Response | Promise<Response>;
}

/** Responses of the token endpoint that are held back. */
export interface Held {
  /** Resolves when the first request has its response. */
  readonly arrived: Promise<void>;
  /** Lets the responses through. */
  release(): void;
}

/** A session, the sandbox that it reaches without a port, and the clocks of both. */
export interface Portless extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly clock: Clock;
  readonly session: Session;
  readonly options: SessionOptions & { fetch: typeof fetch };
  /** The requests to the token endpoint. */
  readonly sent: readonly Sent[];
  /** The requests to the API: their URLs and authorization headers. */
  readonly called: readonly { readonly url: string; readonly authorization: string }[];
  /** The pauses between attempts, in milliseconds. */
  readonly pauses: readonly number[];
  /** Path of the `.env` of the sandbox. */
  readonly envFile: string;
  /** How many refreshes were sent. */
  refreshes(): number;
  /** How many logins were sent. */
  logins(): number;
  /** Holds back the responses of the token endpoint from now on. */
  hold(): Held;
  /**
   * Creates another session with the same provider, API and `.env`: it stands for another process,
   * or for another account.
   */
  another(options?: TestOptions): Session;
}

export function portless(given: PortlessOptions = {}): Portless {
  const clock = new Clock();
  const sandbox = createSandbox({ now: clock.provider, ...given.sandbox });
  const sent: Sent[] = [];
  const called: { url: string; authorization: string }[] = [];
  let gate: Promise<void> | undefined;
  let answered: (() => void) | undefined;

  async function tokenEndpoint(request: Request): Promise<Response> {
    const body = JSON.parse(await request.clone().text());
    const target = [...request.headers].find(([name]) => name.endsWith("-target"))?.[1];
    const each = {
      flow: body.AuthFlow ?? target?.split(".")[1],
      clientId: body.ClientId,
      parameters: body.AuthParameters ?? {},
      body,
    };
    sent.push(each);
    const waits = gate;
    const answer = given.provider
      ? await given.provider(each, sent.length)
      : await sandbox.handle(request);
    answered?.();
    // As in a bad network, aborting the request does not stop the response.
    await waits;
    return answer;
  }

  const { envFile, ...settings } = sandbox.settings;
  const { timeout, random, ...more } = given.session ?? {};
  const options: Portless["options"] = {
    ...settings,
    envFile: given.file ? envFile : false,
    ...clock.options,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const { origin } = new URL(request.url);
      if (origin === sandbox.authUrl) return await tokenEndpoint(request);
      called.push({
        url: request.url,
        authorization: request.headers.get("authorization") ?? "",
      });
      return given.api ? await given.api(request, called.length) : await sandbox.handle(request);
    },
    ...more,
  };
  const count = (flow: string) => sent.filter((each) => each.flow === flow).length;
  return {
    sandbox,
    clock,
    options,
    session: testSession({ ...options, timeout, random }),
    sent,
    called,
    pauses: clock.pauses,
    envFile,
    refreshes: () => count("REFRESH_TOKEN_AUTH"),
    logins: () => count("USER_PASSWORD_AUTH"),
    hold() {
      const door = Promise.withResolvers<void>();
      const first = Promise.withResolvers<void>();
      gate = door.promise;
      answered = first.resolve;
      return {
        arrived: first.promise,
        release: () => {
          gate = undefined;
          door.resolve();
        },
      };
    },
    another: (other = {}) => testSession({ ...options, timeout, random, ...other }),
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

/** The error with which a promise rejects. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new TypeError("rejected with something that is not an Error");
  }
  throw new TypeError("the promise was expected to reject");
}

/** Returns the status and cancels the body, which would otherwise stay open on a real port. */
export async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer;
  await body?.cancel();
  return status;
}

/** The keys and values of a `.env` with plain lines only; none before the file exists. */
export function linesOf(path: string): Record<string, string> {
  const text = isFile(path) ? Deno.readTextFileSync(path) : "";
  const lines = text.split("\n").filter((line) => line.includes("="));
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

/** A world whose session is logged in. */
export async function signedIn(options: PortlessOptions = {}): Promise<Portless> {
  const world = portless(options);
  await world.session.login();
  return world;
}
