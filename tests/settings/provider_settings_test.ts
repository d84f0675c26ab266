/** The problems of settings as data, from which the messages are made. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { SessionOptions } from "../../mod.ts";
import { ConfigError } from "../../src/errors/errors.ts";
import { resolveProvider, settingsFault } from "../../src/provider/provider_settings.ts";
import { resolveSettings } from "../../src/settings/settings.ts";

const COMPLETE: SessionOptions = {
  authUrl: "https://provider.example",
  clientId: "client",
  clientSecret: "",
  userPoolId: "pool",
};

function faultOf(options: SessionOptions) {
  return settingsFault(options, resolveSettings(options, false));
}

Deno.test("settingsFault() finds nothing in settings that can be used", async () => {
  assertEquals(await faultOf(COMPLETE), undefined);
});

Deno.test("settingsFault() lists each missing setting", async () => {
  const fault = await faultOf({ clientSecret: "secret" });
  assertEquals(fault?.code, "MISSING_SETTINGS");
  assertEquals(fault?.settings, ["authUrl", "clientId", "userPoolId"]);
  assertMatch(fault?.problem ?? "", /^missing AUTH_URL \(or .*\), APP_CLIENT_ID, USER_POOL_ID$/);
  assertMatch(
    fault?.fix ?? "",
    /^set the missing values in the environment or as an option\. The app client id/,
  );
});

Deno.test("settingsFault() reports the source and the problem of each wrong setting", async () => {
  const fault = await faultOf({ ...COMPLETE, clientId: "two words", timeoutMs: 0 });
  assertEquals(fault?.code, "INVALID_SETTING");
  assertEquals(fault?.settings, ["clientId", "timeoutMs"]);
  assertEquals(
    fault?.problem,
    "APP_CLIENT_ID (the option clientId) must be visible ASCII without spaces; AUTH_TIMEOUT_MS (the " +
      "option timeoutMs) must be a whole number of milliseconds, from 1 to one hour",
  );
  assertEquals(fault?.fix, "correct it and try again");
});

Deno.test("an error contains the fault and the action that failed", async () => {
  for (const options of [{}, { ...COMPLETE, userPoolId: "two words" }]) {
    const settings = resolveSettings(options, false);
    const fault = await settingsFault(options, settings);
    const error = await assertRejects(
      () => resolveProvider("login", options, settings),
      ConfigError,
    );
    assertEquals(error.code, fault?.code);
    assertEquals(error.problem, `Cannot log in: ${fault?.problem}`);
    assertEquals(error.fix, fault?.fix);
  }
});
