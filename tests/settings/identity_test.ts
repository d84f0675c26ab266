/** Which settings make another account of a session: its tokens in memory are dropped. */
import { assertEquals } from "@std/assert";
import type { SessionOptions } from "../../mod.ts";
import { Configuration } from "../../src/session/configuration.ts";
import {
  SETTING_NAMES,
  SETTING_RULES,
  type SettingName,
  VARIABLES,
} from "../../src/settings/options.ts";
import { withEnvironment } from "../support/environment.ts";

const UNSET = Object.fromEntries(Object.values(VARIABLES).map((name) => [name, undefined]));

/** Whether tokens stay when the options change. */
function keepsTokens(before: SessionOptions, after: SessionOptions): boolean {
  const [one, other] = [before, after].map((options) =>
    new Configuration("configure()", { envFile: false, ...options }, false)
  );
  return other !== undefined && one?.isSameAccount(other) === true;
}

/** The settings whose value makes another account of this session. */
function decisive(options: SessionOptions): SettingName[] {
  return SETTING_NAMES.filter((name) => {
    const value = name === "timeoutMs" ? 1_234 : name === "provider" ? "aws" : "another";
    return !keepsTokens(options, { ...options, [name]: value });
  });
}

Deno.test("another endpoint, client, command or store is another account", async () => {
  const parts = { region: "north-1", providerHost: "idp", providerDomain: "vendor.example" };
  const own: SettingName[] = ["clientId", "userPoolId", "tokenCommand", "store", "storeKey"];
  await withEnvironment(UNSET, () => {
    const ofEndpoint: SettingName[] = [
      "authUrl",
      "region",
      "providerHost",
      "providerDomain",
      "provider",
    ];
    assertEquals(decisive(parts), [...ofEndpoint, ...own]);
    assertEquals(
      SETTING_NAMES.filter((name) => SETTING_RULES[name].identity === "endpoint"),
      ofEndpoint,
    );
    // Its parts do not count where the endpoint is named as a whole.
    const whole = { ...parts, authUrl: "https://provider.example" };
    assertEquals(decisive(whole), ["authUrl", "provider", ...own]);
  });
});

Deno.test("another user name is another account where a store keeps one session for each", async () => {
  await withEnvironment(UNSET, () => {
    const store = { store: "redis://127.0.0.1" };
    assertEquals(keepsTokens({ username: "ada" }, { username: "grace" }), true);
    assertEquals(
      keepsTokens({ ...store, username: "ada" }, { ...store, username: "grace" }),
      false,
    );
  });
});

Deno.test("another .env is another account", () => {
  assertEquals(keepsTokens({ envFile: "one.env" }, { envFile: "other.env" }), false);
  assertEquals(keepsTokens({ envFile: "one.env" }, { envFile: "./one.env" }), true);
});
