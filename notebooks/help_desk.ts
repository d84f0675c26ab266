/**
 * Five students with five broken setups, for "Find the cause" in notebook 05. Spoiler: the code shows
 * the answers.
 */
import { type Check, createSession, type Diagnosis, type Session, type SessionOptions } from "../mod.ts";
import type { Sandbox } from "../src/sandbox/mod.ts";
import type { Clock } from "./sandbox_clock.ts";

/** A student with a broken setup. */
export interface Student {
  /** Repeats what the student did. @returns The error, or the result. */
  tries(): Promise<unknown>;
  /** The result of `doctor()` on the student's computer. */
  doctor(): Promise<Diagnosis>;
}

/** The result of `startAtNine()`. */
interface Classroom {
  sandbox: Sandbox;
  clock: Clock;
}

const HOUR = 3_600_000;

/** Creates the five students. */
export async function openDesk(
  classroom: Classroom,
): Promise<Readonly<Record<"ada" | "ben" | "cleo" | "dan" | "eve", Student>>> {
  const { sandbox, clock } = classroom;
  const { settings } = sandbox;
  const copiedEarlier = await sandbox.portalToken();
  clock.pass(45);
  const copiedNow = await sandbox.portalToken();
  const session = (change: SessionOptions) =>
    createSession({ ...settings, ...clock.options, envFile: false, ...change });

  const ada = session({ clientSecret: settings.clientSecret.slice(0, -1) });
  const ben = session({});
  const cleo = await cutPassword(classroom);
  const dan = session({ apiBaseUrl: sandbox.portalUrl });
  const eve = session({ now: () => clock.now() + HOUR });
  return {
    ada: student(ada, () => ada.login()),
    ben: student(ben, () => ben.login({ portalToken: copiedEarlier })),
    cleo: student(cleo, () => cleo.login()),
    dan: student(dan, () => dan.login().then(() => dan.fetchJson("/v1/stations"))),
    eve: student(eve, () => eve.login({ portalToken: copiedNow })),
  };
}

const MARKS = { ok: "✓", warn: "!", fail: "✗", skip: "-" };

/** The lines of a diagnosis that another diagnosis does not have. */
export function differences(other: Diagnosis, diagnosis: Diagnosis): string {
  const known = new Set(other.checks.map(lineOf));
  const lines = diagnosis.checks.map(lineOf).filter((line) => !known.has(line));
  return lines.join("\n") || "doctor() shows the same lines.";
}

function lineOf({ name, level, message, fix }: Check): string {
  return `${MARKS[level]} ${name}: ${message}${fix ? `\n  → ${fix}` : ""}`;
}

function student(session: Session, work: () => Promise<unknown>): Student {
  return { tries: () => work().catch((error) => error), doctor: () => examine(session) };
}

async function examine(session: Session): Promise<Diagnosis> {
  const diagnosis = await session.doctor();
  // All permissions are granted, and this check lists folders of this computer.
  diagnosis.checks = diagnosis.checks.filter(({ name }) => name !== "permissions");
  return diagnosis;
}

/** A session whose `.env` contains a password that needs quotes but has none. */
async function cutPassword({ sandbox, clock }: Classroom): Promise<Session> {
  const { password: _, ...settings } = sandbox.settings;
  const password = "sunrise#7";
  sandbox.addUser({ username: "cleo", password });
  const envFile = `${settings.envFile}.cleo`;
  await Deno.writeTextFile(envFile, `PASSWORD=${password}\n`, { mode: 0o600 });
  return createSession({ ...settings, ...clock.options, envFile, username: "cleo" });
}
