import { assert, assertEquals, assertMatch } from "@std/assert";
import * as module from "../../mod.ts";
import { assertHides, canaries, issued, SETTINGS, tokenLines } from "../support/canaries.ts";
import { cannedFetch } from "../support/canned_fetch.ts";
import { errorAnswer, jsonAnswer, tokenAnswer, TOKENS } from "../support/answers.ts";
import { withLog } from "./kept_log.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";

const { createSession } = module;

/** Registers a test that runs with the log on and fails if the log shows a secret. */
function test(name: string, work: () => Promise<void>): void {
  Deno.test(name, async () => {
    const lines = await withLog(work);
    assert(lines.some((line) => line.includes(" request ")), "nothing was logged");
    await assertHides(lines, "the log");
  });
}

test("no export of the module and no result of a call shows a secret", () =>
  inFolder(async (folder) => {
    const { fetch } = cannedFetch(issued());
    const options = { ...SETTINGS, exportEnv: "none", fetch } as const;
    module.configure({ ...options, envFile: `${folder}/.env` });
    const session = createSession(options);
    const given = [
      ...[await module.login(), await module.refresh(), module.status(), await module.doctor()],
      ...[await session.login(), await session.refresh(), session.status(), session],
      ...[module, globalThis[Symbol.for("platform-auth default session 0") as never]],
      ...Object.values(module),
    ];
    for (const [at, value] of given.entries()) await assertHides(value, `value ${at}`);
    assertEquals(await module.accessToken(), canaries.accessToken);
    await module.logout();
    await assertHides(module.status(), "the status after logout");
  }));

test("a login with further steps shows no secret", async () => {
  const { authenticatorKey, code, newPassword, stepSession } = canaries;
  const step = (ChallengeName: string) => jsonAnswer({ ChallengeName, Session: stepSession });
  const { asked, fetch } = cannedFetch(
    ...[step("NEW_PASSWORD_REQUIRED"), step("MFA_SETUP")] as const,
    ...[jsonAnswer({ SecretCode: authenticatorKey, Session: stepSession })],
    ...[jsonAnswer({ Status: "SUCCESS", Session: stepSession }), issued()],
  );
  const session = createSession({ ...SETTINGS, fetch });
  const challenges: module.Challenge[] = [];
  const status = await session.login({
    onChallenge: (challenge) => {
      challenges.push(challenge);
      return challenge.name === "MFA_SETUP"
        ? { SOFTWARE_TOKEN_MFA_CODE: code }
        : { NEW_PASSWORD: newPassword };
    },
  });
  assertEquals([status.state, asked.length], ["valid", 5]);
  assertEquals(challenges[1]?.authenticator?.secret, authenticatorKey);
  for (const each of [status, session, challenges, ...challenges]) await assertHides(each, "it");
});

test("device operations and logouts show no secret, even if the provider repeats it", async () => {
  const { accessToken, refreshToken, deviceKey, devicePassword } = canaries;
  const device = { DeviceKey: deviceKey, DeviceGroupKey: "a-group" };
  const { asked, fetch } = cannedFetch((each) =>
    each.body.includes("USER_PASSWORD_AUTH")
      ? tokenAnswer({
        ...TOKENS,
        AccessToken: accessToken,
        RefreshToken: refreshToken,
        NewDeviceMetadata: device,
      })
      : errorAnswer(
        "InvalidParameterException",
        /device_?key/i.test(each.body) ? `No device ${deviceKey}` : each.body,
      )
  );
  const random = crypto.getRandomValues;
  crypto.getRandomValues = (bytes) => {
    if (bytes instanceof Uint8Array && bytes.length === 40) {
      bytes.set(Uint8Array.fromBase64(devicePassword));
      return bytes;
    }
    return random.call(crypto, bytes) as typeof bytes;
  };
  try {
    const session = createSession({ ...SETTINGS, fetch });
    const shown: unknown[] = [await session.login(), session];
    shown.push(await session.refresh().catch((error: unknown) => error), session.status());
    for (const everywhere of [false, true]) {
      shown.push(await session.login({ force: true }), await session.logout({ everywhere }));
    }
    for (const [at, value] of shown.entries()) await assertHides(value, `value ${at}`);
    const operations = asked.map(({ headers }) => headers.get("x-vendor-target")?.split(".")[1]);
    const known = ["ConfirmDevice", "GlobalSignOut", "InitiateAuth", "RevokeToken"];
    assertEquals([...new Set(operations)].sort(), known);
    assert(!asked.some(({ body }) => body.includes(devicePassword)), "it is never sent");
  } finally {
    crypto.getRandomValues = random;
  }
});

Deno.test("a process that prints the session and fails prints no secret", () =>
  inFolder(async (cwd) => {
    const { clientSecret, password } = canaries;
    const settings = `APP_CLIENT_SECRET=${clientSecret}\nPASSWORD='${password}'\n` +
      "APP_CLIENT_ID=example-client\nUSERNAME=ada\n";
    await Deno.writeTextFile(`${cwd}/.env`, tokenLines(settings));
    const script = (end: string) => `
      import * as module from ${JSON.stringify(MOD_PATH)};
      const { status, createSession, doctor } = module;
      console.log(module, status(), { ...status() }, JSON.stringify(status()));
      console.table(status());
      console.dir(status, { depth: 100, showHidden: true });
      console.log(createSession({ envFile: ".env" }), await doctor());
      console.error(await module.refresh().catch((error) => error));
      ${end}`;
    const ends: [string, RegExp][] = [
      ["await module.login({ force: true });", /ConfigError: Cannot keep/],
      ["await module.logout();", /PERMISSION|--allow-write/],
      [`await module.authFetch("https://elsewhere.example");`, /ConfigError: Cannot send/],
    ];
    const options = { cwd, flags: ["--allow-read=.", "--allow-env"], env: { AUTH_LOG: "1" } };
    for (const [end, said] of ends) {
      const { code, stdout, stderr } = await runScript(script(end), options);
      assertEquals(code, 1, end);
      assertMatch(stderr, /^\S+ platform-auth: settings /m);
      assertMatch(stderr, said);
      assertMatch(stdout, /Signed in/);
      await assertHides(stdout + stderr, end);
    }
  }));
