import { jsonAnswer, jwt } from "../support/answers.ts";
import type { Budget } from "./scenario.ts";
import type { EventKind, Gates } from "./gates.ts";

/** One login as the provider knows it. */
interface Login {
  revoked: boolean;
  /** How many tokens it brought. */
  issued: number;
  /** The refresh token that works. */
  newest: string;
  /** The session whose request brought it. */
  newestOf?: number;
  readonly first: string;
}

interface AccessToken {
  readonly name: string;
  readonly login: string;
  readonly endsAt: number;
  rejected: boolean;
}

const LIFETIME_MS = 1_800_000;
/** Time for which a login or a logout waits for a refresh. */
const PATIENCE_MS = 3_000;

/** A provider and an API, whose requests and responses arrive only when the explorer lets them. */
export class Provider {
  /** Milliseconds since 1970. */
  now = Date.UTC(2025, 5, 1, 12);
  /** By the name of the operation that logged in. */
  readonly logins = new Map<string, Login>();
  readonly #refreshTokens = new Map<string, string>();
  readonly #accessTokens = new Map<string, AccessToken>();
  /** The number of refreshes for which tokens were issued. */
  refreshes = 0;
  /** Replaced refresh tokens that were sent again: by whom, and which session got the newer one. */
  readonly reused: {
    readonly by: number;
    readonly newestOf: number | undefined;
    readonly isKept: boolean;
  }[] = [];
  /** Whether the store holds tokens of a login. */
  isKept: (login: string) => boolean = () => true;
  /** The faults that may still occur. */
  budget: Budget;
  /** The faults that occurred. */
  readonly faults = new Set<string>();
  /** Whether all requests and responses pass at once, as during the final check of an order. */
  isOpen = false;

  constructor(readonly gates: Gates, readonly rotates: boolean, budget: Budget) {
    this.budget = { ...budget };
  }

  /** Logs in. @param operation What logs in: the first time that is the name of the login. */
  login(operation: string): { accessToken: string; refreshToken: string } {
    let name = operation;
    this.#touch(name, "written");
    for (let nth = 2; this.logins.has(name); nth++) name = `${operation}-${nth}`;
    const refreshToken = `R1.${name}`;
    this.#refreshTokens.set(refreshToken, name);
    const login = { revoked: false, issued: 1, newest: refreshToken, first: refreshToken };
    this.logins.set(name, login);
    return { accessToken: this.#accessToken(name, login), refreshToken };
  }

  /**
   * Everything on which its next responses depend, and what the final check inspects. It does not
   * depend on the order of events elsewhere.
   */
  get contents(): unknown {
    const tokens = [...this.#accessTokens.values()].map(({ name, endsAt, rejected }) =>
      `${name}${endsAt <= this.now ? " ended" : ""}${rejected ? " rejected" : ""}`
    );
    const { refreshes, reused, budget } = this;
    const faults = [...this.faults].sort();
    return [[...this.logins].sort(), tokens.sort(), refreshes, reused, faults, budget];
  }

  /** Every access token is rejected by the API from now on; refreshed ones are not. */
  rejectAll(): void {
    for (const token of this.#accessTokens.values()) token.rejected = true;
  }

  /** Every login ends. */
  revokeAll(): void {
    for (const login of this.logins.values()) login.revoked = true;
  }

  /** @param name The name of an access token. */
  hasEnded(name: string | undefined): boolean {
    const found = [...this.#accessTokens.values()].find((token) => token.name === name);
    return found !== undefined && found.endsAt <= this.now;
  }

  isAlive(accessToken: string): boolean {
    const found = this.#accessTokens.get(accessToken);
    return found !== undefined && !this.logins.get(found.login)?.revoked;
  }

  /** The requests of one session. */
  fetch(session: number): typeof fetch {
    return async (input, init) => {
      const signal = init?.signal;
      signal?.throwIfAborted();
      this.gates.activity++;
      const headers = new Headers(init?.headers);
      if (`${input}`.startsWith("https://api.")) return await this.#api(session, headers, signal);
      const target = [...headers].find(([name]) => name.endsWith("-target"))?.[1] ?? "";
      const request = JSON.parse(`${init?.body}`);
      const served = this.#serve(session, target.split(".")[1] ?? "", request, signal);
      served.catch(() => {});
      if (!signal) return await served;
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
      return await Promise.race([served, aborted.promise]);
    };
  }

  /** The deadline of a session's request that is under way. */
  readonly deadlines = new Map<number, { ms: number; abort: AbortController }>();

  timeout(session: number, ms: number): AbortSignal {
    const abort = new AbortController();
    if (ms === PATIENCE_MS) this.#losePatience(session, abort);
    else this.deadlines.set(session, { ms, abort });
    return abort.signal;
  }

  /** A login or a logout may have waited for a refresh for as long as it does. */
  #losePatience(session: number, abort: AbortController): void {
    const ways = () => this.budget.impatience ? [""] : [];
    this.#pass(session, "three seconds are over", ways).then(() => {
      if (this.isOpen) return;
      this.#fault("impatience");
      this.now += PATIENCE_MS;
      abort.abort();
    });
  }

  async #serve(
    session: number,
    operation: string,
    // deno-lint-ignore no-explicit-any -- what the client wrote
    request: any,
    signal: AbortSignal | null | undefined,
  ): Promise<Response> {
    const what = NAMES[request.AuthFlow] ?? NAMES[operation] ?? operation;
    const deadline = this.deadlines.get(session);
    // An abort does not take back what was sent: it may arrive all the same.
    const arrival = await this.#pass(
      session,
      `${what} arrives`,
      () => this.budget.refusals && !signal?.aborted ? ["", "503"] : [""],
      undefined,
      { unseen: [""] },
    );
    const arrived = this.gates.last;
    if (arrival === "503") {
      this.#fault("refusals");
      return answer(503, { message: "busy" });
    }
    const { status, body } = this.#answer(session, operation, request);
    this.gates.learn(`${status} ${withoutTimes(JSON.stringify(body))}`);
    const delivery = await this.#pass(
      session,
      `${what} is answered`,
      () => {
        return [
          "",
          ...(this.budget.losses ? ["lost"] : []),
          ...(this.budget.late ? ["too late"] : []),
        ];
      },
      signal,
      { follows: arrived },
    );
    if (delivery === "lost") {
      this.#fault("losses");
      throw new TypeError("error sending request", { cause: new Error("connection reset") });
    }
    if (delivery === "too late") {
      this.#fault("late");
      this.now += deadline?.ms ?? 0;
      deadline?.abort.abort();
    }
    return answer(status, body, this.now);
  }

  async #api(session: number, headers: Headers, signal?: AbortSignal | null): Promise<Response> {
    const { slowApi } = this.budget;
    if (slowApi) await this.#pass(session, "call arrives", () => [""], signal);
    const token = (headers.get("authorization") ?? "").replace(/^bearer /i, "");
    const found = this.#accessTokens.get(token);
    const isGood = found && found.endsAt > this.now && !found.rejected && this.isAlive(token);
    this.#touch(found?.login, "read");
    this.gates.learn(isGood ? "200" : "401");
    if (slowApi) await this.#pass(session, "call is answered", () => [""], signal);
    return new Response("x", { status: isGood ? 200 : 401 });
  }

  async #pass(
    session: number,
    kind: string,
    ways: () => readonly string[],
    signal?: AbortSignal | null,
    kindOfEvent?: EventKind,
  ): Promise<string> {
    return this.isOpen ? "" : await this.gates.wait(session, kind, ways, signal, kindOfEvent);
  }

  /** Who touches one login takes part in what is done to all. */
  #touch(login: string | undefined, how: "read" | "written"): void {
    this.gates.touch("all logins", "read");
    if (login !== undefined) this.gates.touch(`login ${login}`, how);
  }

  #fault(kind: "refusals" | "losses" | "late" | "impatience"): void {
    this.budget = { ...this.budget, [kind]: (this.budget[kind] ?? 0) - 1 };
    this.faults.add(kind);
  }

  #answer(
    session: number,
    operation: string,
    // deno-lint-ignore no-explicit-any -- what the client wrote
    request: any,
  ): { status: number; body: unknown } {
    const parameters = request.AuthParameters ?? {};
    switch (NAMES[request.AuthFlow] ?? NAMES[operation]) {
      case "login": {
        // The password is the name of the operation.
        const { accessToken, refreshToken } = this.login(parameters.PASSWORD);
        return issued(accessToken, refreshToken);
      }
      case "refresh":
        return this.#refresh(session, parameters.REFRESH_TOKEN);
      case "revoke": {
        const name = this.#refreshTokens.get(request.Token);
        const login = this.logins.get(name ?? "");
        this.#touch(name, "written");
        // Where refresh tokens rotate, one in between ends nothing.
        if (login && [login.newest, login.first].includes(request.Token)) login.revoked = true;
        return { status: 200, body: {} };
      }
      case "sign-out": {
        const found = this.#accessTokens.get(request.AccessToken);
        this.gates.touch("all logins", "written");
        if (!found || found.endsAt <= this.now || !this.isAlive(request.AccessToken)) {
          return refused("Access Token has been revoked");
        }
        this.revokeAll();
        return { status: 200, body: {} };
      }
      default:
        return { status: 400, body: { __type: "UnknownOperationException" } };
    }
  }

  #refresh(session: number, refreshToken: string): { status: number; body: unknown } {
    const name = this.#refreshTokens.get(refreshToken) ?? "";
    const login = this.logins.get(name);
    this.#touch(name, "written");
    if (!login) return refused("Invalid Refresh Token");
    if (login.revoked) return refused("Refresh Token has been revoked");
    if (login.newest !== refreshToken) {
      // Whoever sends a replaced refresh token ends the login, as real services do.
      login.revoked = true;
      this.gates.touch("store", "read");
      this.reused.push({ by: session, newestOf: login.newestOf, isKept: this.isKept(name) });
      return refused("Refresh Token has been revoked");
    }
    this.refreshes++;
    if (!this.rotates) return issued(this.#accessToken(name, login));
    login.newest = `R${++login.issued}.${name}`;
    login.newestOf = session;
    this.#refreshTokens.set(login.newest, name);
    return issued(this.#accessToken(name, login), login.newest);
  }

  #accessToken(of: string, login: Login): string {
    const name = `T${++login.issued}.${of}`;
    const iat = Math.floor(this.now / 1_000);
    const claims = {
      sub: "u",
      username: "student",
      client_id: "c",
      token_use: "access",
      iat,
      exp: iat + LIFETIME_MS / 1_000,
      jti: name,
    };
    const token = jwt(claims, "s");
    const endsAt = this.now + LIFETIME_MS;
    this.#accessTokens.set(token, { name, login: of, endsAt, rejected: false });
    return token;
  }
}

const NAMES: Readonly<Record<string, string>> = {
  USER_PASSWORD_AUTH: "login",
  REFRESH_TOKEN_AUTH: "refresh",
  RevokeToken: "revoke",
  GlobalSignOut: "sign-out",
};

/** The name of an access token: the login it is of, and a number that grows with each token of that. */
interface TokenName {
  readonly number: number;
  readonly login: string;
  readonly text: string;
}

export function tokenName(token: string): TokenName {
  const known = tokenNames.get(token);
  if (known) return known;
  const claims = token.split(".")[1] ?? "";
  const bytes = Uint8Array.fromBase64(claims, { alphabet: "base64url" });
  const text: string = JSON.parse(new TextDecoder().decode(bytes)).jti;
  const dot = text.indexOf(".");
  const name = { number: Number(text.slice(1, dot)), login: text.slice(dot + 1), text };
  tokenNames.set(token, name);
  return name;
}

const tokenNames = new Map<string, TokenName>();

/** A text that is the same whatever time it is: instants are left out, access tokens are named. */
export function withoutTimes(text: string): string {
  return text.replaceAll(/[\w-]{9,}\.[\w-]{9,}\.[\w-]+/g, (token) => tokenName(token).text)
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "then");
}

function issued(accessToken: string, refreshToken?: string): { status: number; body: unknown } {
  const result = {
    AccessToken: accessToken,
    ExpiresIn: LIFETIME_MS / 1_000,
    TokenType: "Bearer",
    ...(refreshToken && { RefreshToken: refreshToken }),
  };
  return { status: 200, body: { AuthenticationResult: result, ChallengeParameters: {} } };
}

function refused(message: string): { status: number; body: unknown } {
  return { status: 400, body: { __type: "NotAuthorizedException", message } };
}

/** @param body A response with a known length is read in one piece. */
export function answer(status: number, body: unknown, now?: number): Response {
  const headers = {
    "content-length": `${JSON.stringify(body).length}`,
    ...(now !== undefined && { date: new Date(now).toUTCString() }),
  };
  return jsonAnswer(body, status, headers);
}
