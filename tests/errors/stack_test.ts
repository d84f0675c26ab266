import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { pathToFileURL } from "node:url";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { portless, rejection, signedIn } from "../support/portless.ts";
import { errorAnswer } from "../support/answers.ts";

const SOURCE = new URL("../../src/", import.meta.url);
const HERE = import.meta.url.split("/").at(-1) ?? "";

/** Runs a script with an uncaught error, and returns the output of Deno. */
async function uncaught(imported: string): Promise<string> {
  return await inFolder(async (cwd) => {
    const script =
      `${imported}\nasync function mine() {\n  return await parsePortalToken("bearer a b");\n}\nawait mine();\n`;
    const { stderr } = await runScript(script, { cwd, flags: ["--no-check"] });
    return stderr;
  });
}

const HEADER = "error: Uncaught (in promise) ConfigError: Cannot read the portal string: " +
  'character 2 of 3 cannot occur in a token; choose "Copy Token" in the user menu of the ' +
  "portal and paste the whole string (bearer …) " +
  "(help: platform-auth explain INVALID_PORTAL_TOKEN)";

/** Asserts that the output is the message and the two frames of the script, without source lines. */
function assertTwoLines(printed: string): void {
  const [header, ...frames] = printed.trimEnd().split("\n");
  assertEquals(header, HEADER);
  assertEquals(frames.length, 2, printed);
  assertMatch(frames[0] ?? "", /^ {4}at mine \(file:.*\/script-[\w-]+\.ts:3:\d+\)$/);
  assertMatch(frames[1] ?? "", /^ {4}at file:.*\/script-[\w-]+\.ts:5:\d+$/);
}

Deno.test("an uncaught error shows its message and only the frames of the script", async () => {
  const imported = `import { parsePortalToken } from ${JSON.stringify(MOD_PATH)};`;
  assertTwoLines(await uncaught(imported));
});

Deno.test("an error shows the same stack if the path of the module has spaces and umlauts", async () => {
  await inFolder(async (folder) => {
    const source = `${folder}/ä b%c/src`;
    const names = [...Deno.readDirSync(new URL("errors/", SOURCE))].map(({ name }) => name);
    for (
      const path of [
        ...names.map((name) => `errors/${name}`),
        "platform/claims.ts",
        "session/portal_token.ts",
      ]
    ) {
      await Deno.mkdir(`${source}/${path.split("/")[0]}`, { recursive: true });
      await Deno.copyFile(new URL(path, SOURCE), `${source}/${path}`);
    }
    const url = pathToFileURL(`${source}/session/portal_token.ts`);
    assertTwoLines(await uncaught(`import { parsePortalToken } from "${url}";`));
  });
});

/** The frames below an error's name and message. */
function framesOf(error: Error): string[] {
  const head = `${error.name}: ${error.message}`;
  const stack = error.stack ?? "";
  assertEquals(stack.slice(0, head.length), head);
  return stack.slice(head.length).split("\n").slice(1);
}

/** Asserts that the stack contains frames of this test, but none of the module. */
function assertCallersFrames(error: Error): void {
  const frames = framesOf(error);
  assertEquals(
    frames.filter((frame) => frame.includes(SOURCE.href) || /\((ext|node):/.test(frame)),
    [],
  );
  assert(frames.some((frame) => frame.includes(HERE)), error.stack);
}

for (const name of ["refresh", "accessToken", "authFetch"] as const) {
  Deno.test(`an error of ${name}() shows the frames of its caller, even if another call started the refresh`, async () => {
    await using world = await signedIn();
    world.clock.advance(3_600);
    world.sandbox.failures.push({ at: "token", ...refusal(), times: 10 });
    const held = world.hold();
    const first = world.session.refresh().catch((error) => error.name);
    const calls = {
      refresh: () => world.session.refresh(),
      accessToken: () => world.session.accessToken(),
      authFetch: () => world.session.authFetch("/v1/stations"),
    };
    const joined = rejection(mine(calls[name]));
    await held.arrived;
    held.release();
    const error = await joined;
    assertCallersFrames(error);
    assertStringIncludes(error.stack ?? "", "    at async mine (");
    assertEquals([await first, world.refreshes()], ["SessionExpiredError", 1]);
  });
}

async function mine(call: () => Promise<unknown>): Promise<void> {
  await call();
}

function refusal(): { status: number; body: string } {
  const body = { __type: "NotAuthorizedException", message: "Refresh Token has been revoked" };
  return { status: 400, body: JSON.stringify(body) };
}

Deno.test("the errors of login() and authFetch() show only the frames of the caller", async () => {
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
});
