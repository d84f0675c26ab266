import { assert, assertEquals } from "@std/assert";
import { fc, rounds } from "../support/property.ts";
import type { Session } from "../../mod.ts";
import { linesOf, type Portless, portless, statusOf } from "../support/portless.ts";
import { type Held, LIFETIME, type Outcome, SessionModel } from "./model.ts";

/** The number of random sequences, many more with SOAK set. */
const RUNS = rounds(50, 1_500);
const SESSIONS = 3;

/** Lines of the user, which stay. */
const FOREIGN = "MINE='a b'\n# note\r\nexport OTHER=1\n";

type Call = "login" | "logout" | "refresh" | "call";

type Step =
  | { readonly kind: Call | "crash"; readonly session: number }
  | { readonly kind: "down" | "lost"; readonly session: number; readonly by: "call" | "refresh" }
  | { readonly kind: "wait" | "revoke" | "reject" | "remove" };

const session = fc.nat(SESSIONS - 1);
const kinds = fc.constantFrom("call", "call", "call", "refresh", "crash", "login", "logout");
const troubles = {
  kind: fc.constantFrom("down", "lost"),
  by: fc.constantFrom("call", "refresh"),
  session,
} as const;
const events = fc.constantFrom("wait", "wait", "wait", "reject", "reject", "revoke", "remove");
const step = fc.oneof(
  { arbitrary: fc.record({ kind: kinds, session }), weight: 5 },
  { arbitrary: fc.record(troubles), weight: 1 },
  { arbitrary: fc.record({ kind: events }), weight: 3 },
) as fc.Arbitrary<Step>;

const stories = fc.array(step, { maxLength: 40, size: "max" });

/** The real sessions, and the model beside them. */
class Story {
  readonly world: Portless;
  readonly model: SessionModel;
  readonly sessions: Session[];

  constructor(rotating: boolean) {
    this.world = portless({
      file: true,
      // No deadline: not even a busy machine lets a story fail by the time that its file takes.
      session: { timeout: () => new AbortController().signal },
      sandbox: { rotateRefreshTokens: rotating, accessTokenSeconds: LIFETIME },
    });
    Deno.writeTextFileSync(this.world.envFile, FOREIGN, { mode: 0o600 });
    this.model = new SessionModel(rotating, () => this.#newest());
    this.sessions = Array.from({ length: SESSIONS }, () => this.world.another());
  }

  async take(step: Step): Promise<void> {
    const { model, world } = this;
    this.#pass(1);
    switch (step.kind) {
      case "wait":
        // Three of them are the life of a token.
        return this.#pass(LIFETIME / 3);
      case "revoke":
        world.sandbox.revokeRefreshTokens();
        return model.live.clear();
      case "reject":
        world.sandbox.expireAccessTokens();
        // Tokens issued in the same second are rejected, too.
        this.#pass(1);
        return model.issued.forEach((token) => model.dead.add(token));
      case "remove":
        model.file = undefined;
        return Deno.writeTextFileSync(world.envFile, FOREIGN);
      case "crash":
        model.crash(step.session);
        this.sessions[step.session] = world.another();
        return;
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

  /** Conditions that always hold. */
  check(): void {
    const { model, world, sessions } = this;
    const { ACCESS_TOKEN, REFRESH_TOKEN } = linesOf(world.envFile);
    assert(ACCESS_TOKEN === model.file?.access, "the access token that is kept");
    assert(REFRESH_TOKEN === model.file?.refresh, "the refresh token that is kept");
    assert(Deno.readTextFileSync(world.envFile).startsWith(FOREIGN), "the lines of the user");
    assertEquals([world.logins(), world.refreshes()], [model.logins, model.refreshes]);
    const states = sessions.map((each) => each.status().state);
    assertEquals(states, sessions.map((_, at) => model.stateOf(at)));
    const codes = sessions.flatMap((each) => each.status().notices)
      .filter(({ level }) => level === "warning").map(({ code }) => code);
    assertEquals(codes.filter((code) => code !== "REFRESH_FAILED"), []);
  }

  async #expect(at: number, kind: Call): Promise<void> {
    const real = await outcomeOf(this.sessions[at] as Session, kind);
    assertEquals(real, this.model[kind](at), `${kind} of session ${at}`);
  }

  #pass(seconds: number): void {
    this.world.clock.advance(seconds);
    this.model.now += seconds;
  }

  #newest(): Held {
    const { ACCESS_TOKEN: access = "", REFRESH_TOKEN: refresh } = linesOf(this.world.envFile);
    assert(access !== this.model.file?.access, "there is a new token");
    assert(refresh !== undefined && !this.model.spent.has(refresh), "it can be refreshed");
    return { access, refresh, issuedAt: this.model.now };
  }
}

async function outcomeOf(session: Session, kind: Call): Promise<Outcome> {
  const calls: Record<Call, () => Promise<string>> = {
    login: async () => (await session.login({ force: true })).state,
    refresh: async () => (await session.refresh()).state,
    call: async () => String(await statusOf(session.authFetch("/v1/whoami"))),
    logout: async () => (await session.logout(), "done"),
  };
  return await calls[kind]().catch((error) => error.code ?? String(error));
}

for (const rotating of [false, true]) {
  const tokens = rotating ? "one-time refresh tokens" : "lasting refresh tokens";
  Deno.test(`three sessions on a .env do what a simple model predicts in ${RUNS} random stories (${tokens})`, async () => {
    const property = fc.asyncProperty(stories, async (steps) => {
      const story = new Story(rotating);
      try {
        for (const each of [{ kind: "login", session: 0 } as const, ...steps]) {
          await story.take(each);
          story.check();
        }
      } finally {
        await story.world.sandbox.close();
      }
    });
    await fc.assert(property, { numRuns: RUNS });
  });
}
