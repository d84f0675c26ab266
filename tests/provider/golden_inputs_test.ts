import { assertEquals } from "@std/assert";
import inputs from "../data/golden_inputs.json" with { type: "json" };
import secretHashes from "../data/secret_hash_vectors.json" with { type: "json" };
import { readGolden } from "../support/tcp_capture.ts";

Deno.test("the golden requests contain the inputs, in the order of the API document", async () => {
  const { clientId: ClientId, userPoolId: UserPoolId } = inputs;
  const vector = secretHashes.vectors.find(({ username }) => username === inputs.username);
  const hash = { SECRET_HASH: vector?.hash };
  const login = {
    AuthFlow: "USER_PASSWORD_AUTH",
    ClientId,
    UserPoolId,
    AuthParameters: { USERNAME: inputs.username, PASSWORD: inputs.password, ...hash },
  };
  const refresh = { AuthFlow: "REFRESH_TOKEN_AUTH", ClientId, UserPoolId };
  const REFRESH_TOKEN = inputs.refreshToken;
  const expected = {
    "golden_login.http": login,
    "golden_login_aws.http": login,
    "golden_refresh_with_hash.http": { ...refresh, AuthParameters: { REFRESH_TOKEN, ...hash } },
    "golden_refresh_without_hash.http": { ...refresh, AuthParameters: { REFRESH_TOKEN } },
  };
  for (const [name, body] of Object.entries(expected)) {
    const golden = await readGolden(name);
    assertEquals(golden.requestLine, "POST / HTTP/1.1");
    assertEquals(golden.headers.length, 2);
    assertEquals(new TextDecoder().decode(golden.body), JSON.stringify(body), name);
  }
});
