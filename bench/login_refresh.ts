import { createSession } from "../mod.ts";
import { compare, interleave, timed } from "./interleave.ts";
import { startLoadWorld } from "./load_world.ts";
import { type Part, rounds } from "./part.ts";
import { summaryColumns, summaryRows, valueTarget } from "./report.ts";

const ROUNDS = 200;
const LARGE = "portal token of 1 MB, memory only";

/** The duration of a login and of a refresh in a warm process, compared with the bare request. */
export const loginRefresh: Part = async (effort) => {
  await using world = await startLoadWorld();
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  try {
    const inMemory = createSession(world.options);
    const inFile = createSession({ ...world.options, envFile: `${folder}/.env` });
    // Like this module, this reuses no connection, so that a login is never sent twice.
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const post = async (init: RequestInit & { client?: Deno.HttpClient }) => {
      const response = await fetch(world.url, { method: "POST", body: "{}", ...init });
      await response.json();
    };
    const pasted = createSession(world.options);
    const portalToken = tokenOf(1_000_000);
    await inMemory.login();
    await inFile.login();
    const subjects = {
      "bare POST, new connection": () => post({ client }),
      "bare POST, pooled connection": () => post({}),
      "login, memory only": () => inMemory.login({ force: true }),
      "refresh, memory only": () => inMemory.refresh(),
      "login, saved": () => inFile.login({ force: true }),
      "refresh, saved": () => inFile.refresh(),
      [LARGE]: () => pasted.login({ portalToken }),
    };
    const samples = await interleave(
      Object.entries(subjects).map(([name, work]) => ({ name, measure: () => timed(work) })),
      rounds(ROUNDS, effort),
      5,
    );
    client.close();
    const reference = "bare POST, new connection";
    const summaries = compare(samples, reference);
    return {
      part: "login-refresh",
      tables: [{
        title: "Login and refresh in a warm process",
        columns: summaryColumns("work", reference),
        rows: summaryRows(summaries, "ms"),
      }],
      targets: valueTarget("a token of 1 MB", samples.get(LARGE) ?? [], 50, " ms"),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};

/** A token of the given length, nearly all of it in one claim. */
function tokenOf(length: number): string {
  const part = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value))
      .toBase64({ alphabet: "base64url", omitPadding: true });
  const iat = Math.floor(Date.now() / 1_000);
  const claims = { iat, exp: iat + 3_600, token_use: "access", client_id: "bench-client" };
  const rest = length - part({ ...claims, scope: "" }).length - 100;
  const scope = "s".repeat(Math.floor(rest * 3 / 4));
  return `${part({ alg: "none" })}.${part({ ...claims, scope })}.`.padEnd(length, "A");
}
