/** Each front end, such as the command line, has its own words for the next step. */
import { assertEquals, assertMatch } from "@std/assert";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";

const FIX_PATH = new URL(import.meta.resolve("../../src/errors/advice.ts")).pathname;

Deno.test("a front end decides how a status, a diagnosis and an error write a recommended call", () =>
  inFolder(async (cwd) => {
    const script = `
      import { createSession } from ${JSON.stringify(MOD_PATH)};
      import { setFrontEnd } from ${JSON.stringify(FIX_PATH)};
      setFrontEnd({
        call: ({ call, options }) => ["<" + call, ...Object.keys(options ?? {})].join(" ") + ">",
        inProgram: ({ inTerminal = "" }) => inTerminal,
      });
      const session = createSession({
        envFile: false,
        apiBaseUrl: "https://api.example",
        fetch: (_, init) => {
          const isCall = new Headers(init.headers).has("authorization");
          return Promise.resolve(new Response(null, { status: isCall ? 401 : 404 }));
        },
      });
      const fixes = async () =>
        Object.fromEntries((await session.doctor()).checks.map(({ name, fix }) => [name, fix]));
      const before = { status: Deno.inspect(session.status()), fixes: await fixes() };
      const { checks } = await createSession({ envFile: false }).doctor();
      await session.login({ portalToken: "bearer an-opaque-portal-token" });
      const after = { fixes: await fixes() };
      const refused = await session.fetchJson("/v1/x").catch(({ problem, fix }) => ({ problem, fix }));
      const there = await session.download("/v1/x", Deno.args[0], { ifExists: "error" })
        .catch(({ fix }) => fix);
      const { fix } = checks.find(({ name }) => name === "API");
      console.log(JSON.stringify({ before, after, refused, there, fix }));`;
    await Deno.writeTextFile(`${cwd}/there.csv`, "mine");
    const flags = ["--allow-read", "--allow-write", "--allow-env", "--allow-net"];
    const { stdout, stderr } = await runScript(script, { cwd, flags, args: ["there.csv"] });
    assertEquals(stderr, "");
    const { before, after, refused, there, fix } = JSON.parse(stdout);
    assertMatch(before.status, /next: run <login>\n {2}session: <login> keeps it in /);
    assertEquals(before.fixes.session, "run <login>");
    assertEquals(after.fixes.token, "copy a new portal string and run <login strategy>");
    assertEquals(refused.fix, "run <login force>, then try again");
    assertMatch(
      refused.problem,
      /^Cannot GET https:\/\/api\.example\/v1\/x because the API responded with 401/,
    );
    assertEquals(there, "use --if-exists replace, or choose another file");
    assertMatch(fix, /^set it to the API's base address; platform-auth fetch then accepts paths/);
  }));
