/** Helpers for the tests of single checks of doctor(). */
import { assertEquals, assertMatch } from "@std/assert";
import type { Check, Diagnosis } from "../../mod.ts";
import { assertHides } from "../support/canaries.ts";
import { cannedFetch } from "../support/canned_fetch.ts";
import { type TestOptions, testSession } from "../support/portless.ts";
import { withEnvironment } from "../support/environment.ts";

/** Removes the proxy settings of this machine. */
export const NO_VARIABLES: Record<string, undefined> = Object.fromEntries(
  ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]
    .flatMap((name) => [[name, undefined], [name.toLowerCase(), undefined]]),
);

/** A response of a reachable provider or API with the same time. */
export const reachable = (): Response =>
  new Response(null, { status: 405, headers: { date: new Date().toUTCString() } });

/** The diagnosis with these options and a reachable provider and API. Fails if it shows a canary. */
export async function diagnosisOf(options: TestOptions, login = false): Promise<Diagnosis> {
  return await withEnvironment(NO_VARIABLES, async () => {
    const diagnosis = await testSession({
      fetch: cannedFetch(reachable).fetch,
      envFile: false,
      ...options,
    }).doctor({ login });
    await assertHides(diagnosis, "a diagnosis");
    return diagnosis;
  });
}

/** The one check of that name. */
export function checkNamed(name: string, { checks }: Diagnosis): Check {
  const found = checks.filter((check) => check.name === name);
  assertEquals(found.length, 1, `${name}: ${found.length} checks`);
  return found[0] ?? { name, level: "skip", message: "" };
}

/** Fails unless the check has this level, message and fix. Without `fix`, it must have none. */
export function assertCheck(
  diagnosis: Diagnosis,
  name: string,
  level: Check["level"],
  message: RegExp,
  fix?: RegExp,
): void {
  const check = checkNamed(name, diagnosis);
  assertEquals(check.level, level, `${name}: ${check.message}`);
  assertMatch(check.message, message);
  if (fix) assertMatch(check.fix ?? "", fix);
  else assertEquals(check.fix, undefined);
  if (level === "fail") assertEquals(diagnosis.ok, false);
}

/** Fails if there is a check of that name. */
export function assertNone({ checks }: Diagnosis, name: string): void {
  assertEquals(checks.filter((check) => check.name === name), []);
}
