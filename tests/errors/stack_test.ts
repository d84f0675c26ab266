import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { inFolder, runScript } from "../support/child_deno.ts";
import { portless, rejection, signedIn } from "../support/portless.ts";
import { errorAnswer } from "../support/answers.ts";

const SOURCE = new URL("../../src/", import.meta.url);
const HERE = import.meta.url.split("/").at(-1) ?? "";

Deno.test("an uncaught error shows its message and the frames of the script, whatever the path of the module", () =>
  inFolder(async (cwd) => {
    const source = `${cwd}/ä b%c/src`;
    const names = [...Deno.readDirSync(new URL("errors/", SOURCE))].map(({ name }) => name);
    const paths = names.map((name) => `errors/${name}`);
    for (const path of [...paths, "platform/claims.ts", "session/portal_token.ts"]) {
      await Deno.mkdir(dirname(`${source}/${path}`), { recursive: true });
      await Deno.copyFile(new URL(path, SOURCE), `${source}/${path}`);
    }
    const script = `
      import { parsePortalToken } from "${pathToFileURL(`${source}/session/portal_token.ts`)}";
      async function mine() {
        return await parsePortalToken("bearer a b");
      }
      await mine();`;
    const { stderr } = await runScript(script, { cwd, flags: ["--no-check"] });
    const [header = "", ...frames] = stderr.trimEnd().split("\n");
    assertMatch(
      header,
      /^error: Uncaught \(in promise\) ConfigError: Cannot read the portal string: /,
    );
    assertMatch(header, /\(help: platform-auth explain INVALID_PORTAL_TOKEN\)$/);
    // Neither a frame of the module nor a line of its source.
    assertEquals(frames.length, 2, stderr);
    assertMatch(frames[0] ?? "", /^ {4}at mine \(file:.*\/script-[\w-]+\.ts:4:\d+\)$/);
    assertMatch(frames[1] ?? "", /^ {4}at file:.*\/script-[\w-]+\.ts:6:\d+$/);
  }));

/** Asserts that the stack contains frames of this test, but none of the module. */
function assertCallersFrames({ name, message, stack = "" }: Error): void {
  const head = `${name}: ${message}`;
  assertEquals(stack.slice(0, head.length), head);
  const frames = stack.slice(head.length).split("\n").slice(1);
  const others = frames.filter((each) => each.includes(SOURCE.href) || /\((ext|node):/.test(each));
  assertEquals(others, []);
  assert(frames.some((frame) => frame.includes(HERE)), stack);
}

Deno.test("an error shows the frames of its caller, even if another call started the refresh", async () => {
  await using world = await signedIn();
  world.clock.advance(3_600);
  const body = { __type: "NotAuthorizedException", message: "Refresh Token has been revoked" };
  world.sandbox.failures.push({ at: "token", status: 400, body: JSON.stringify(body), times: 10 });
  const held = world.hold();
  const first = world.session.refresh().catch((error) => error.name);
  const joined = rejection(mine(() => world.session.authFetch("/v1/stations")));
  await held.arrived;
  held.release();
  const error = await joined;
  assertCallersFrames(error);
  assertStringIncludes(error.stack ?? "", "    at async mine (");
  assertEquals([await first, world.refreshes()], ["SessionExpiredError", 1]);
});

async function mine(call: () => Promise<unknown>): Promise<void> {
  await call();
}

Deno.test("the errors of login() and authFetch() show only the frames of the caller", async () => {
  const { stackTraceLimit } = Error;
  await using world = portless({
    provider: () => errorAnswer("NotAuthorizedException", "Incorrect username or password."),
  });
  const errors = [
    await rejection(world.session.login()),
    await rejection(world.session.authFetch("/v1/stations")),
    await rejection(world.session.authFetch(1 as unknown as string)),
  ];
  assertEquals(errors.map(({ name }) => name), [
    "ProviderError",
    "SessionExpiredError",
    "TypeError",
  ]);
  for (const error of errors) assertCallersFrames(error);
  // The caller's own errors are as long as before.
  assertEquals(Error.stackTraceLimit, stackTraceLimit);
});
