import { assert, assertEquals } from "@std/assert";
import { fc, rounds } from "../support/property.ts";
import type { Session } from "../../mod.ts";
import { type Portless, portless } from "../support/portless.ts";
import { type Held, LIFETIME, type Outcome, SessionModel } from "./model.ts";
import { inFile, inMemory, type Lines, never, type Place } from "./places.ts";

/** The number of random sequences, many more with SOAK set. */
const RUNS = rounds(50, 1_500);

/** A server responds almost at once. */

const SESSIONS = 3;

type Step =
  | { readonly kind: "login" | "logout" | "refresh" | "call" | "crash"; readonly session: number }
  | { readonly kind: "together"; readonly session: number }
  | { readonly kind: "down" | "lost"; readonly session: number; readonly by: "call" | "refresh" }
  | { readonly kind: "overtaken" | "outrun" | "portal"; readonly session: number }
  | { readonly kind: "skew"; readonly seconds: number }
  | { readonly kind: "wait" | "revoke" | "reject" | "strip" }
  | { readonly kind: "edit"; readonly text: string };

const session = fc.nat(SESSIONS - 1);
const of = <Kind extends string>(...kinds: Kind[]) =>
  fc.record({ kind: fc.constantFrom(...kinds), session });
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: of("call", "call", "refresh", "crash"), weight: 12 },
  { arbitrary: fc.record({ kind: fc.constantFrom("wait", "wait", "reject") }), weight: 7 },
  { arbitrary: of("login", "together"), weight: 2 },
  {
    arbitrary: fc.record({
      kind: fc.constantFrom("down", "lost"),
      session,
      by: fc.constantFrom("call", "refresh"),
    }),
    weight: 3,
  },
  { arbitrary: of("logout", "overtaken", "outrun", "portal"), weight: 4 },
  {
    arbitrary: fc.record({ kind: fc.constant("skew"), seconds: fc.integer({ min: -3, max: 3 }) }),
    weight: 1,
  },
  { arbitrary: fc.record({ kind: fc.constantFrom("revoke", "strip") }), weight: 1 },
  {
    arbitrary: fc.record({
      kind: fc.constant("edit"),
      text: fc.constantFrom("MINE='a b'\n", "# note\r\n", "export OTHER=1\n"),
    }),
    weight: 1,
  },
);

const LOGIN: Step = { kind: "login", session: 0 };
const stories = fc.array(step, { maxLength: 40, size: "max" }).map((steps) => [LOGIN, ...steps]);

/** The actions of others who share a session. */
const SHARED = new Set(["overtaken", "outrun", "strip", "together"]);

/** The real sessions, and the model beside them. */
class Story {
  readonly world: Portless;
  readonly model: SessionModel;
  readonly sessions: Session[] = [];
  readonly #place: Place;
  #lines: Lines = {};
  /** A string that was copied in the portal earlier. */
  #copied: Held = { access: "", refresh: undefined, issuedAt: 0 };

  constructor(rotating: boolean, make: (world: Portless) => Place) {
    // Who waits for the lock waits in real time.
    const sleep = () => new Promise<void>((done) => setTimeout(done, 0));
    this.world = portless({
      file: true,
      session: { sleep, timeout: never },
      sandbox: { rotateRefreshTokens: rotating, accessTokenSeconds: LIFETIME },
    });
    this.#place = make(this.world);
    this.model = new SessionModel(rotating, () => this.#newest());
    const count = this.#place.kind === "memory" ? 1 : SESSIONS;
    for (let at = 0; at < count; at++) this.sessions.push(this.#another());
  }

  async take(step: Step): Promise<void> {
    const { model, world } = this;
    const place = this.#place;
    if (place.kind === "memory" && SHARED.has(step.kind)) return;
    if ("session" in step) step = { ...step, session: step.session % this.sessions.length };
    this.#pass(1);
    switch (step.kind) {
      case "wait":
        await this.copy();
        // Three of them are the life of a token.
        return this.#pass(LIFETIME / 3);
      case "skew":
        // The provider's nodes do not agree on the time.
        return world.clock.skew(step.seconds);
      case "portal":
        return await this.#portal(step.session);
      case "outrun":
        return await this.#outrun(step.session);
      case "revoke":
        world.sandbox.revokeRefreshTokens();
        return model.live.clear();
      case "reject":
        world.sandbox.expireAccessTokens();
        // Tokens issued in the same second are rejected, too.
        this.#pass(1);
        return model.issued.forEach((token) => model.dead.add(token));
      case "edit":
        return place.edit?.(step.text);
      case "strip":
        model.file = undefined;
        return await place.write({});
      case "crash":
        model.crash(step.session);
        if (place.kind === "memory") model.file = undefined;
        this.sessions[step.session] = this.#another();
        return;
      case "together":
        return await this.#together(step.session);
      case "overtaken":
        return await this.#overtaken(step.session);
      case "down":
      case "lost": {
        const lost = { at: "token", drop: "during", times: 1 } as const;
        world.sandbox.failures.push(step.kind === "lost" ? lost : { at: "token", status: 503 });
        model.trouble = step.kind;
        await this.#expect(step.session, step.by);
        model.trouble = "none";
        world.sandbox.failures.length = 0;
        return;
      }
      default:
        return await this.#expect(step.session, step.kind);
    }
  }

  /** Somebody copies a token in the portal, for later. */
  async copy(): Promise<void> {
    const access = (await this.world.sandbox.portalToken()).replace("bearer ", "");
    this.#copied = { access, refresh: undefined, issuedAt: this.model.now };
    this.model.issued.push(access);
  }

  /** Conditions that always hold. */
  async check(): Promise<void> {
    const { model, world } = this;
    this.#place.check?.();
    const { ACCESS_TOKEN, REFRESH_TOKEN } = await this.#look();
    if (this.#place.kind !== "memory") {
      assert(ACCESS_TOKEN === model.file?.access, "the access token that is kept");
      assert(REFRESH_TOKEN === model.file?.refresh, "the refresh token that is kept");
    }
    assertEquals([world.logins(), world.refreshes()], [model.logins, model.refreshes]);
    const states = this.sessions.map((each) => each.status().state);
    assertEquals(states, this.sessions.map((_, at) => model.stateOf(at)));
    for (const each of this.sessions) {
      const codes = each.status().notices.filter(({ level }) => level === "warning")
        .map(({ code }) => code);
      assertEquals(
        codes.filter((code) => code !== "PORTAL_TOKEN" && code !== "REFRESH_FAILED"),
        [],
      );
    }
  }

  async #portal(at: number): Promise<void> {
    const { access } = this.#copied;
    const real = (await this.#session(at).login({ portalToken: access })).state;
    await this.#look();
    assertEquals(real, this.model.portal(at, this.#copied), `portal login of session ${at}`);
  }

  /** Another program saves a portal token while the response to a refresh is on its way. */
  async #outrun(at: number): Promise<void> {
    const { model, world } = this;
    const held = world.hold();
    const real = outcomeOf(this.#session(at), "refresh");
    await Promise.race([held.arrived, real]);
    const { access, issuedAt } = this.#copied;
    const end = new Date(world.clock.now() + (issuedAt + LIFETIME - model.now) * 1_000);
    await this.#place.write({
      ACCESS_TOKEN: access,
      ACCESS_TOKEN_EXPIRES_AT: end.toISOString(),
    });
    held.release();
    model.trouble = "outrun";
    const outcome = await real;
    await this.#look();
    assertEquals(outcome, model.outrun(at, this.#copied), `refresh of session ${at}, outrun`);
    model.trouble = "none";
  }

  async #expect(at: number, kind: "login" | "logout" | "refresh" | "call"): Promise<void> {
    const real = await outcomeOf(this.#session(at), kind);
    await this.#look();
    assertEquals(real, this.model[kind](at), `${kind} of session ${at}`);
  }

  /** The user removes the tokens from the file while the response to a refresh is on its way. */
  async #overtaken(at: number): Promise<void> {
    const { model, world } = this;
    const held = world.hold();
    const real = outcomeOf(this.#session(at), "refresh");
    await Promise.race([held.arrived, real]);
    await this.#place.write({});
    held.release();
    model.trouble = "overtaken";
    const outcome = await real;
    await this.#look();
    assertEquals(outcome, model.refresh(at), `refresh of session ${at}, overtaken`);
    model.trouble = "none";
    model.file = undefined;
  }

  /** All sessions call at once, each twice: it is as if they called one after the other. */
  async #together(first: number): Promise<void> {
    // One whose token is good would not look at what the others got: bring all to the same.
    for (const at of this.sessions.keys()) await this.take({ kind: "crash", session: at });
    const order = this.sessions.map((_, at) => (first + at) % this.sessions.length);
    const real = await Promise.all(
      order.flatMap((at) => [0, 1].map(() => outcomeOf(this.#session(at), "call"))),
    );
    await this.#look();
    const expected = order.flatMap((at) => [0, 1].map(() => this.model.call(at)));
    assertEquals(real.toSorted(), expected.toSorted());
    // Which of them asked the provider is left to chance, and only that one knows why a session ended.
    for (const at of this.sessions.keys()) await this.take({ kind: "crash", session: at });
  }

  #session(at: number): Session {
    const session = this.sessions[at];
    if (session === undefined) throw new RangeError(`there is no session ${at}`);
    return session;
  }

  #pass(seconds: number): void {
    this.world.clock.advance(seconds);
    this.model.now += seconds;
  }

  #another(): Session {
    return this.world.another(this.#place.options);
  }

  async #look(): Promise<Lines> {
    return this.#lines = await this.#place.look();
  }

  #newest(): Held {
    const { ACCESS_TOKEN: access = "", REFRESH_TOKEN: refresh } = this.#lines;
    assert(access !== this.model.file?.access, "there is a new token");
    assert(refresh !== undefined && !this.model.spent.has(refresh), "it can be refreshed");
    return { access, refresh, issuedAt: this.model.now };
  }
}

async function outcomeOf(
  session: Session,
  kind: "login" | "logout" | "refresh" | "call",
): Promise<Outcome> {
  try {
    if (kind === "login") return (await session.login({ force: true })).state;
    if (kind === "refresh") return (await session.refresh()).state;
    if (kind === "call") {
      const answer = await session.authFetch("/v1/whoami");
      await answer.body?.cancel();
      return String(answer.status);
    }
    await session.logout();
    return "done";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

async function assertStories(
  runs: number,
  rotating: boolean,
  place: (world: Portless) => Place,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(stories, async (steps) => {
      const story = new Story(rotating, place);
      try {
        await story.copy();
        for (const each of steps) {
          await story.take(each);
          await story.check();
        }
      } finally {
        await story.world.sandbox.close();
      }
    }),
    { numRuns: runs },
  );
}

for (const rotating of [false, true]) {
  const how = `go as the model says, refresh tokens ${rotating ? "rotating" : "staying"}`;
  Deno.test(`${RUNS} random stories on a .env ${how}`, () => assertStories(RUNS, rotating, inFile));
  Deno.test(`${RUNS} random stories in memory ${how}`, () =>
    assertStories(RUNS, rotating, inMemory));
}
