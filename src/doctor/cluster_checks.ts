import { failedCheck, type Finding } from "../display/diagnosis.ts";
import type { Configuration } from "../session/configuration.ts";
import { Notices } from "../session/notices.ts";
import { AuthError } from "../errors/errors.ts";
import { remainingMs, type Tokens } from "../values/tokens.ts";
import { durationText } from "../values/wording.ts";

/** What was found in a store. */
interface Found {
  readonly checks: Finding[];
  readonly tokens?: Tokens | undefined;
}

/** Asks the store that other machines share, as a session does, and writes nothing to it. */
export async function checkStore(
  configuration: Configuration,
  signal: AbortSignal | undefined,
): Promise<Found> {
  const name = "store";
  const notices = new Notices();
  try {
    const { RedisStore } = await import("../session/cluster/redis_store.ts");
    const store = await RedisStore.open(() => configuration, notices);
    await store.look(true);
    const { problem } = store;
    if (problem) return { checks: [failedCheck(name, problem)] };
    const { tokens } = store.read();
    const message = tokens ? "answers, and holds a session" : "answers, and holds no session";
    const warnings = notices.all.filter(({ level }) => level === "warning")
      .map(({ problem, fix = "" }): Finding => ({ name, level: "warn", message: problem, fix }));
    return { checks: [{ name, level: "ok", message }, ...warnings], tokens };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return { checks: [failedCheck(name, error)] };
  }
}

/** Runs the command that gives tokens. The token is used to ask the API, and dropped. */
export async function checkTokenCommand(
  configuration: Configuration,
  signal: AbortSignal | undefined,
): Promise<{ check: Finding; tokens?: Tokens }> {
  const name = "token command";
  const { tokensByCommand } = await import("../session/cluster/token_command.ts");
  try {
    const place = { configuration, notices: new Notices() };
    const tokens = await tokensByCommand(place, configuration.settings.timeoutMs, signal);
    const left = remainingMs(tokens, configuration.world);
    const span = left === undefined ? "with an unknown expiry" : `good for ${durationText(left)}`;
    return { check: { name, level: "ok", message: `gives a token ${span}` }, tokens };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof AuthError)) throw error;
    return { check: failedCheck(name, error) };
  }
}
