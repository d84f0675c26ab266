/** Runs the emulator `cognito-local`, an identity provider that this project did not write. */
import { onFreePort } from "../support/free_port.ts";
import { notInstalled } from "../support/needs.ts";
import { COGNITO_LOCAL, hasCognitoLocal } from "../support/packages.ts";
import { saysReady } from "../support/text_lines.ts";

/** Why the emulator cannot run here; `undefined`: it can. */
export const NO_COGNITO_LOCAL = await hasCognitoLocal()
  ? undefined
  : notInstalled("cognito-local cannot be fetched; deno task test prepare tells why");

/** A password that satisfies the emulator's policy. */
export const newPassword = () => `Aa1!${crypto.randomUUID()}`;

export type CognitoLocal = Awaited<ReturnType<typeof startCognitoLocal>>;

/**
 * Starts an emulator that keeps its data in the folder, with a pool, a client with a secret and a
 * user. Users sign in by e-mail, so their names at the provider are UUIDs.
 */
export async function startCognitoLocal(folder: string) {
  await Deno.mkdir(`${folder}/.cognito`);
  await Deno.writeTextFile(
    `${folder}/.cognito/config.json`,
    JSON.stringify({ UserPoolDefaults: { UsernameAttributes: ["email"] } }),
  );
  // The emulator writes the configured port into its tokens, so the port cannot be 0.
  const { url, end } = await onFreePort((port) => startEmulator(folder, port));
  const admin = operations(url);
  const { UserPool: { Id: userPoolId } } = await admin("CreateUserPool", { PoolName: "tests" });
  const { UserPoolClient: client } = await admin("CreateUserPoolClient", {
    UserPoolId: userPoolId,
    ClientName: "tests",
    GenerateSecret: true,
    ExplicitAuthFlows: ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
  });
  const account = { username: "learner@example.org", password: newPassword() };
  const user = { UserPoolId: userPoolId, Username: account.username };
  const { User } = await admin("AdminCreateUser", { ...user, MessageAction: "SUPPRESS" });
  const Password = account.password;
  await admin("AdminSetUserPassword", { ...user, Password, Permanent: true });
  return {
    settings: {
      authUrl: url,
      provider: "aws" as const,
      clientId: client.ClientId,
      clientSecret: client.ClientSecret,
      userPoolId,
    },
    account,
    providerUsername: User.Username,
    admin,
    [Symbol.asyncDispose]: end,
  };
}

async function startEmulator(folder: string, port: number) {
  // The emulator exits at the end of its standard input, which comes however this process ends.
  const main = `import "${COGNITO_LOCAL.entry}";` +
    "await Deno.stdin.readable.pipeTo(new WritableStream()); Deno.exit();";
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", ...COGNITO_LOCAL.flags],
      ...["--allow-env", "--allow-sys", "--allow-read", `--allow-write=${folder}`],
      ...["--allow-net=127.0.0.1", `data:application/javascript,${encodeURIComponent(main)}`],
    ],
    cwd: folder,
    env: { HOST: "127.0.0.1", PORT: String(port), NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const end = async () => {
    await child.stdin.close();
    await child.status;
  };
  try {
    const { drained } = await saysReady(child.stdout, "running on http", "cognito-local");
    return { url: `http://127.0.0.1:${port}/`, end: () => end().then(() => drained) };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Sends an operation with which a test prepares the emulator. Throws unless it succeeds. */
function operations(url: string) {
  return async (operation: string, body: Record<string, unknown>) => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "x-amz-target": `AWSCognitoIdentityProviderService.${operation}`,
        "content-type": "application/x-amz-json-1.1",
      },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${operation} failed with ${response.status}`, answer);
    return answer;
  };
}
