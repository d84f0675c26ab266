/** The settings that select the account: if one of them changes, tokens in memory are dropped. */
import { assertEquals } from "@std/assert";
import type { SessionOptions } from "../../mod.ts";
import { Configuration } from "../../src/session/configuration.ts";
import { SETTING_NAMES, type SettingName } from "../../src/settings/options.ts";
import { withOnly } from "../support/bare_session.ts";

/** Whether a session keeps its tokens in memory when its options change. */
function keepsTokens(before: SessionOptions, after: SessionOptions): boolean {
  const [one, other] = [before, after].map((options) =>
    new Configuration("configure()", { envFile: false, ...options }, false)
  );
  return other !== undefined && one?.isSameAccount(other) === true;
}

/** The settings that select the account of a session with these options. */
function decisive(options: SessionOptions): SettingName[] {
  return SETTING_NAMES.filter((name) => {
    const value = name === "timeoutMs" ? 1_234 : name === "provider" ? "aws" : "another";
    return !keepsTokens(options, { ...options, [name]: value });
  });
}

Deno.test("changing the endpoint, client or store drops the tokens in memory", async () => {
  const parts = { region: "north-1", providerHost: "idp", providerDomain: "vendor.example" };
  const own: SettingName[] = ["clientId", "userPoolId", "store", "storeKey"];
  await withOnly({}, () => {
    const ofEndpoint: SettingName[] = [
      "authUrl",
      "region",
      "providerHost",
      "providerDomain",
      "provider",
    ];
    assertEquals(decisive(parts), [...ofEndpoint, ...own]);
    // With authUrl, the parts of an endpoint have no effect.
    const whole = { ...parts, authUrl: "https://provider.example" };
    assertEquals(decisive(whole), ["authUrl", "provider", ...own]);
  });
});

Deno.test("changing the option `token` drops the tokens in memory", () => {
  const [one, other] = [() => Promise.resolve("one"), () => Promise.resolve("other")];
  assertEquals(keepsTokens({ token: one }, { token: one }), true);
  assertEquals(keepsTokens({ token: one }, { token: other }), false);
  assertEquals(keepsTokens({ token: one }, {}), false);
});

Deno.test("changing the user name drops the tokens in memory only if the session uses a store", async () => {
  await withOnly({}, () => {
    const store = { store: "redis://127.0.0.1" };
    assertEquals(keepsTokens({ username: "ada" }, { username: "grace" }), true);
    assertEquals(
      keepsTokens({ ...store, username: "ada" }, { ...store, username: "grace" }),
      false,
    );
  });
});
