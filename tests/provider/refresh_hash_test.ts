import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { computeSecretHash, createSession, type ProviderError } from "../../mod.ts";
import { portless, rejection, signedIn } from "../support/portless.ts";
import { errorAnswer, jwt, tokenAnswer } from "../support/answers.ts";

const MISMATCH = "SecretHash does not match for the client: sandboxclient0000000000001";

function hashOf(world: ReturnType<typeof portless>, name: string): Promise<string> {
  const { clientId = "", clientSecret = "" } = world.options;
  return computeSecretHash(name, clientId, clientSecret);
}

function hashesSent(world: ReturnType<typeof portless>): (string | undefined)[] {
  return world.sent.filter((each) => each.flow === "REFRESH_TOKEN_AUTH")
    .map((each) => each.parameters.SECRET_HASH);
}

Deno.test("login() hashes the e-mail address that the user set, but refresh() the provider's user name", async () => {
  await using world = portless({
    file: true,
    sandbox: { aliasSignIn: true, refreshSecretHash: "required" },
  });
  const { username: email = "", password: _, ...others } = world.options;
  const { username = "" } = await world.session.login();
  assertNotEquals(username, email);
  assertEquals(world.sent[0]?.parameters.SECRET_HASH, await hashOf(world, email));
  await world.session.refresh();
  // After a restart, the session reads the user name from the stored token.
  await createSession(others).refresh();
  const hash = await hashOf(world, username);
  assertEquals(hashesSent(world), [hash, hash]);
});

Deno.test('refreshSecretHash: "auto" stops sending a hash that the provider refuses, even after a restart', async () => {
  await using world = await signedIn({ file: true, sandbox: { refreshSecretHash: "forbidden" } });
  await world.session.refresh();
  const first = hashesSent(world);
  assertEquals(first.at(-1), undefined);
  assertEquals(first.slice(0, -1).includes(undefined), false);
  await world.session.refresh();
  await world.another().refresh();
  assertEquals(hashesSent(world), [...first, undefined, undefined]);
});

Deno.test('refreshSecretHash: "auto" tries username, sub and login name, then no hash', async () => {
  const access = jwt({ username: "known-as", sub: "subject-1", iat: 0, exp: 1_800 });
  await using world = await signedIn({
    provider: (sent) =>
      sent.flow === "USER_PASSWORD_AUTH"
        ? tokenAnswer({ AccessToken: access, RefreshToken: "r", ExpiresIn: 1800 })
        : sent.parameters.SECRET_HASH !== undefined
        ? errorAnswer("NotAuthorizedException", MISMATCH)
        : tokenAnswer({ AccessToken: access, ExpiresIn: 1800 }),
  });
  await world.session.refresh();
  assertEquals(hashesSent(world), [
    await hashOf(world, "known-as"),
    await hashOf(world, "subject-1"),
    await hashOf(world, world.options.username ?? ""),
    undefined,
  ]);
});

Deno.test("refresh() fails with SECRET_HASH_REJECTED and keeps the tokens if every hash is rejected", async () => {
  await using world = await signedIn({
    file: true,
    provider: (sent) =>
      sent.flow === "USER_PASSWORD_AUTH"
        ? tokenAnswer({ AccessToken: jwt({}), RefreshToken: "r", ExpiresIn: 1800 })
        : errorAnswer("NotAuthorizedException", MISMATCH),
  });
  const before = Deno.readTextFileSync(world.envFile);
  const error = await rejection(world.session.refresh());
  assertEquals([error.code, (error as ProviderError).attempts], [
    "SECRET_HASH_REJECTED",
    world.refreshes(),
  ]);
  assert(world.refreshes() > 1, "each variant is an attempt");
  assertEquals(Deno.readTextFileSync(world.envFile), before);
});
