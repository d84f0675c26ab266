import { pathToFileURL } from "node:url";
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { configure, type SessionOptions } from "../mod.ts";
import * as auth from "../mod.ts";
import { withEnvironment, withOnly } from "./support/environment.ts";
import {
  linesOf,
  type Portless,
  portless,
  type PortlessOptions,
  rejection,
} from "./support/portless.ts";
import { jwt } from "./support/answers.ts";

/** Runs `work` with a configured default session, then resets the environment and the session. */
async function withDefault(
  given: PortlessOptions,
  variables: Record<string, string | undefined>,
  work: (world: Portless, options: SessionOptions) => Promise<void>,
): Promise<void> {
  await using world = portless(given);
  const { exportEnv: _, ...options } = world.options;
  await withOnly(variables, async () => {
    try {
      configure(options);
      await work(world, options);
    } finally {
      configure({ envFile: false, exportEnv: "none" });
    }
  });
}

const tokensIn = (variables: Record<string, string>) => [
  variables.ACCESS_TOKEN,
  variables.REFRESH_TOKEN,
];

Deno.test("the environment contains the tokens selected by exportEnv until logout()", async () => {
  for (const exportEnv of [undefined, "both"] as const) {
    await withDefault({ file: true }, {}, async (world, options) => {
      const exporting = exportEnv ? { ...options, exportEnv } : options;
      const assertMirrors = () => {
        const [access, refresh] = tokensIn(linesOf(world.envFile));
        const expected = [access, exportEnv === "both" ? refresh : undefined];
        assertEquals(tokensIn(Deno.env.toObject()), expected, `${exportEnv}`);
      };
      configure(exporting);
      await auth.login();
      assertMirrors();
      await auth.refresh();
      assertMirrors();
      await auth.login({ portalToken: await world.sandbox.portalToken() });
      assertMirrors();
      // Tokens from the file are exported too, even if only exportEnv changes.
      for (const envFile of [false, world.envFile] as const) {
        configure({ ...options, envFile, exportEnv: "none" });
        assertEquals(tokensIn(Deno.env.toObject()), [undefined, undefined]);
        configure(exporting);
        assertEquals(auth.status().state, "valid");
        assertMirrors();
      }
      await auth.logout();
      assertEquals(tokensIn(linesOf(world.envFile)), [undefined, undefined]);
      assertMirrors();
    });
  }
});

Deno.test('exportEnv "none" leaves the environment unchanged', async () => {
  await withDefault({ file: true }, { ACCESS_TOKEN: "somebody-else's" }, async (_, options) => {
    configure({ ...options, exportEnv: "none" });
    await auth.login();
    await auth.logout();
    assertEquals(Deno.env.get("ACCESS_TOKEN"), "somebody-else's");
  });
});

Deno.test("configure() does not remove the user's own tokens from the environment", async () => {
  const ACCESS_TOKEN = jwt({ iat: 1, exp: 4_000_000_000, client_id: "mine" });
  await withDefault({}, { ACCESS_TOKEN, REFRESH_TOKEN: "refresh-of-the-user" }, () => {
    configure({ envFile: false, clientId: "mine" });
    assertEquals(auth.status().source, "environment");
    configure({ envFile: false, clientId: "another" });
    assertEquals(auth.status().state, "none");
    assertEquals(tokensIn(Deno.env.toObject()), [ACCESS_TOKEN, "refresh-of-the-user"]);
    return Promise.resolve();
  });
});

Deno.test("a session that the provider ended leaves no token in the environment", async () => {
  await withDefault({ file: true }, {}, async (world) => {
    await auth.login();
    world.sandbox.revokeRefreshTokens();
    world.clock.advance(3_000);
    assertEquals((await rejection(auth.accessToken())).code, "REFRESH_REJECTED");
    assertEquals(Deno.env.has("ACCESS_TOKEN"), false);
  });
});

Deno.test("if .env and environment have different tokens, the later one is used; if equally old, that of the .env", async () => {
  const cases = [[-60, "file"], [0, "file"], [60, "environment"]] as const;
  for (const [offset, source] of cases) {
    await withDefault({ file: true }, {}, async (world) => {
      const iat = Math.floor(world.clock.now() / 1_000);
      const own = { exp: iat + 1_800, client_id: "mine", username: "ada" };
      const inFile = jwt({ ...own, iat });
      const inEnvironment = jwt({ ...own, iat: iat + offset });
      Deno.writeTextFileSync(world.envFile, `ACCESS_TOKEN=${inFile}\n`);
      configure({ ...world.options, exportEnv: "access", clientId: own.client_id });
      await withEnvironment({ ACCESS_TOKEN: inEnvironment }, async () => {
        assertEquals(auth.status().source, source, `${offset} seconds`);
        const expected = source === "file" ? inFile : inEnvironment;
        assertEquals(await auth.accessToken(), expected);
      });
    });
  }
});

Deno.test("a foreign token in the environment is reported, but neither sent nor removed", async () => {
  const iat = Date.UTC(2025, 5, 1, 13) / 1_000;
  const foreign: [claims: (client: string) => Record<string, unknown>, said: RegExp][] = [
    [
      () => ({ client_id: "other", username: "student" }),
      /an app client other than APP_CLIENT_ID/,
    ],
    [
      (client) => ({ client_id: client, username: "grace" }),
      /belong to another app client or account, so this session/,
    ],
  ];
  for (const [claims, said] of foreign) {
    await withDefault({ file: true }, {}, async (world, options) => {
      const token = jwt({ iat, exp: iat + 1_800, ...claims(options.clientId ?? "") });
      await world.session.login();
      configure(options);
      await withEnvironment({ ACCESS_TOKEN: token, REFRESH_TOKEN: "a-foreign-one" }, async () => {
        const { source, warnings } = auth.status();
        assertEquals(source, "file");
        assertMatch(warnings.join(), said);
        assertEquals((await auth.authFetch("/v1/whoami")).status, 200);
        await auth.logout();
        assertEquals((await rejection(auth.authFetch("/v1/whoami"))).code, "NO_SESSION");
        assertEquals(tokensIn(Deno.env.toObject()), [token, "a-foreign-one"]);
      });
      const all = JSON.stringify([world.sent, world.called]);
      assertEquals(all.includes(token) || all.includes("a-foreign-one"), false);
    });
  }
});

Deno.test("the default session ignores a foreign token in the environment if a client id is set", async () => {
  await withDefault({ file: true }, {}, async (world) => {
    await withEnvironment({ ACCESS_TOKEN: "ghp_0123456789abcdefghij" }, async () => {
      assertEquals(auth.status().state, "none");
      const { code, message } = await rejection(auth.authFetch("/v1/whoami"));
      assertEquals(code, "NO_SESSION");
      assertMatch(message, /no session \(.*app client.*unset ACCESS_TOKEN.*run login\(\)/);
      await auth.login();
      assertEquals((await auth.authFetch("/v1/whoami")).status, 200);
      assertEquals(world.called.length, 1);
    });
  });
});

Deno.test("logout() removes an older copy of the token from the environment", async () => {
  await withDefault({ file: true }, {}, async (world, options) => {
    await world.session.login();
    const { ACCESS_TOKEN } = linesOf(world.envFile);
    configure(options);
    await withEnvironment({ ACCESS_TOKEN }, async () => {
      world.clock.advance(3_000);
      await auth.accessToken();
      await auth.logout();
      assertEquals(Deno.env.has("ACCESS_TOKEN"), false);
    });
  });
});

Deno.test("configure() with a wrong option throws and changes nothing", async () => {
  await withDefault({}, {}, async (_, options) => {
    const wrong: SessionOptions[] = [
      { ...options, clientId: "a\u0007b" },
      { ...options, envFile: new URL("https://elsewhere.example/.env") },
      { ...options, exportEnv: "all" as "both" },
    ];
    await auth.login();
    for (const given of wrong) {
      assertThrows(() => configure(given), auth.ConfigError);
      assertEquals(auth.status().state, "valid");
    }
  });
});

Deno.test("configure() with another account drops the tokens from memory, but keeps the .env", async () => {
  await withDefault({ file: true }, {}, async (world, options) => {
    await auth.login();
    const before = Deno.readTextFileSync(world.envFile);
    const changes: SessionOptions[] = [
      { clientId: "another-client" },
      { envFile: false },
      { envFile: `${world.envFile}.other` },
    ];
    for (const change of changes) {
      configure({ ...options, ...change });
      assertEquals(Deno.env.get("ACCESS_TOKEN"), undefined, JSON.stringify(Object.keys(change)));
      assertEquals(auth.status().state, "none", Deno.inspect(change));
      assertEquals(Deno.readTextFileSync(world.envFile), before);
      configure(options);
      assertEquals(auth.status().source, "file");
      assertEquals(await auth.accessToken(), linesOf(world.envFile).ACCESS_TOKEN);
    }
  });
});

Deno.test("configure() with envFile overrides AUTH_ENV_FILE", async () => {
  await withDefault({}, { AUTH_ENV_FILE: "elsewhere" }, (world, options) => {
    configure({ ...options, envFile: pathToFileURL(world.envFile) });
    assertEquals(auth.status().envFile, world.envFile);
    return Promise.resolve();
  });
});
