import { assert, assertEquals } from "@std/assert";
import { fc, rounds } from "../support/property.ts";
import type { Session } from "../../mod.ts";
import { linesOf, type Portless, portless } from "../support/portless.ts";
import { type Held, LIFETIME, type Outcome, SessionModel } from "./model.ts";

/** How many stories are told, many more with SOAK set. */
const RUNS = rounds(50, 1_500);

const SESSIONS = 3;
const OURS = /^(ACCESS_TOKEN|REFRESH_TOKEN|ACCESS_TOKEN_EXPIRES_AT|AUTHENTICATED_AT)=.*\n/gm;

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

/** The real sessions, and the model beside them. */
class Story {
  readonly world: Portless;
  readonly model: SessionModel;
  readonly sessions: Session[] = [];
  #foreign = "";
  /** What somebody copied in the portal a while ago. */
  #copied: Held = { access: "", refresh: undefined, issuedAt: 0 };

  constructor(rotating: boolean) {
    // Who waits for the lock beside the file waits in real time.
    const sleep = () => new Promise<void>((done) => setTimeout(done, 0));
    this.world = portless({
      file: true,
      session: { sleep },
      sandbox: { rotateRefreshTokens: rotating, accessTokenSeconds: LIFETIME },
    });
    Deno.writeTextFileSync(this.world.envFile, "", { mode: 0o600 });
    this.model = new SessionModel(rotating, () => this.#newest());
    for (let at = 0; at < SESSIONS; at++) this.sessions.push(this.world.another());
  }

  async take(step: Step): Promise<void> {
    const { model, world } = this;
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
        // What is issued in the same second is rejected too.
        this.#pass(1);
        return model.issued.forEach((token) => model.dead.add(token));
      case "edit":
        this.#foreign = step.text + this.#foreign;
        return Deno.writeTextFileSync(world.envFile, step.text + this.#text());
      case "strip":
        model.file = undefined;
        return Deno.writeTextFileSync(world.envFile, this.#foreign);
      case "crash":
        model.crash(step.session);
        this.sessions[step.session] = world.another();
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

  /** What must be true at any time. */
  check(): void {
    const { model, world } = this;
    assertEquals(this.#text().replaceAll(OURS, ""), this.#foreign, "the lines of the user");
    const { ACCESS_TOKEN, REFRESH_TOKEN } = linesOf(world.envFile);
    assert(ACCESS_TOKEN === model.file?.access, "the access token in the file");
    assert(REFRESH_TOKEN === model.file?.refresh, "the refresh token in the file");
    assertEquals([world.logins(), world.refreshes()], [model.logins, model.refreshes]);
    const states = this.sessions.map((each) => each.status().state);
    assertEquals(states, this.sessions.map((_, at) => model.stateOf(at)));
    for (const each of this.sessions) {
      const unexpected = each.status().warnings.filter((it) => !it.startsWith("a portal token "));
      assertEquals(unexpected, []);
    }
  }

  async #portal(at: number): Promise<void> {
    const { access } = this.#copied;
    const real = (await this.#session(at).login({ portalToken: access })).state;
    assertEquals(real, this.model.portal(at, this.#copied), `portal login of session ${at}`);
  }

  /** Another program saves a portal token while the answer to a refresh is on its way. */
  async #outrun(at: number): Promise<void> {
    const { model, world } = this;
    const held = world.hold();
    const real = outcomeOf(this.#session(at), "refresh");
    await Promise.race([held.arrived, real]);
    const { access, issuedAt } = this.#copied;
    const end = new Date(world.clock.now() + (issuedAt + LIFETIME - model.now) * 1_000);
    Deno.writeTextFileSync(
      world.envFile,
      `${this.#foreign}ACCESS_TOKEN=${access}\nACCESS_TOKEN_EXPIRES_AT=${end.toISOString()}\n`,
    );
    held.release();
    model.trouble = "outrun";
    assertEquals(await real, model.outrun(at, this.#copied), `refresh of session ${at}, outrun`);
    model.trouble = "none";
  }

  async #expect(at: number, kind: "login" | "logout" | "refresh" | "call"): Promise<void> {
    const real = await outcomeOf(this.#session(at), kind);
    assertEquals(real, this.model[kind](at), `${kind} of session ${at}`);
  }

  /** The user takes the tokens out of the file while the answer to a refresh is on its way. */
  async #overtaken(at: number): Promise<void> {
    const { model, world } = this;
    const held = world.hold();
    const real = outcomeOf(this.#session(at), "refresh");
    await Promise.race([held.arrived, real]);
    Deno.writeTextFileSync(world.envFile, this.#foreign);
    held.release();
    model.trouble = "overtaken";
    assertEquals(await real, model.refresh(at), `refresh of session ${at}, overtaken`);
    model.trouble = "none";
    model.file = undefined;
  }

  /** All sessions call at once, each twice: it is as if they called one after the other. */
  async #together(first: number): Promise<void> {
    // One whose token is good would not look at what the others got: bring all to the same.
    for (let at = 0; at < SESSIONS; at++) await this.take({ kind: "crash", session: at });
    const order = this.sessions.map((_, at) => (first + at) % SESSIONS);
    const real = await Promise.all(
      order.flatMap((at) => [0, 1].map(() => outcomeOf(this.#session(at), "call"))),
    );
    const expected = order.flatMap((at) => [0, 1].map(() => this.model.call(at)));
    assertEquals(real.toSorted(), expected.toSorted());
    // Which of them asked the provider is left to chance, and only that one knows why a session ended.
    for (let at = 0; at < SESSIONS; at++) await this.take({ kind: "crash", session: at });
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

  #text(): string {
    return Deno.readTextFileSync(this.world.envFile);
  }

  #newest(): Held {
    const { ACCESS_TOKEN: access = "", REFRESH_TOKEN: refresh } = linesOf(this.world.envFile);
    assert(access !== this.model.file?.access, "there is a new token in the file");
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

for (const rotating of [false, true]) {
  Deno.test(`${RUNS} random stories go as the model says, refresh tokens ${rotating ? "rotating" : "staying"}`, async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (steps) => {
        const story = new Story(rotating);
        try {
          await story.copy();
          for (const each of steps) {
            await story.take(each);
            story.check();
          }
        } finally {
          await story.world.sandbox.close();
        }
      }),
      { numRuns: RUNS },
    );
  });
}
