/** Helpers for the tests of single checks of doctor(). */
import { assertEquals } from "@std/assert";
import type { Diagnosis, LoginOptions } from "../../mod.ts";
import { assertHides } from "../support/canaries.ts";
import { cannedFetch } from "../support/canned_fetch.ts";
import { withOnly } from "../support/environment.ts";
import { type TestOptions, testSession } from "../support/portless.ts";

/** A response of a reachable provider or API with the same time. */
const reachable = (): Response =>
  new Response(null, { status: 405, headers: { date: new Date().toUTCString() } });

/** The diagnosis with a reachable provider and API. Fails if it shows a canary. */
export async function diagnosisOf(
  options: TestOptions,
  variables: Record<string, string> = {},
  login?: LoginOptions,
): Promise<Diagnosis> {
  const { fetch } = cannedFetch(reachable);
  return await withOnly(variables, async () => {
    const session = testSession({ fetch, envFile: false, ...options });
    if (login) await session.login(login);
    const diagnosis = await session.doctor();
    await assertHides(diagnosis, "a diagnosis");
    const isFailed = diagnosis.checks.some(({ level }) => level === "fail");
    assertEquals(diagnosis.ok, !isFailed);
    return diagnosis;
  });
}

/** The level, the message and, after an arrow, the fix of a check; "none" if there is no such check. */
export function checkOf({ checks }: Diagnosis, name: string): string {
  const found = checks.filter((check) => check.name === name).map(({ level, message, fix }) =>
    `${level}: ${message}${fix === undefined ? "" : ` → ${fix}`}`
  );
  return found.join(" and ") || "none";
}
