/** Runs the emulator `cognito-local`, an identity provider that this project did not write. */
import { onFreePort } from "../support/free_port.ts";
import { notInstalled, testNeeding } from "../support/needs.ts";
import { COGNITO_LOCAL, hasCognitoLocal } from "../support/packages.ts";

const START_TIMEOUT_MS = 120_000;
const lack = await hasCognitoLocal()
  ? undefined
  : notInstalled("cognito-local cannot be fetched; deno task test prepare tells why");

/** Registers a test with an emulator that has one pool, one client with a secret, and one user. */
export function cognitoLocalTest(
  name: string,
  options: CognitoLocalOptions,
  fn: (provider: CognitoLocal, t: Deno.TestContext) => Promise<void>,
): void {
  testNeeding(lack, name, async (t) => {
    await using provider = await startCognitoLocal(options);
    await fn(provider, t);
  });
}

export interface CognitoLocalOptions {
  /**
   * What users type to log in. With "email", the user name at the provider is a UUID.
   */
  signIn: "username" | "email";
}

export interface CognitoLocal extends AsyncDisposable {
  readonly url: string;
  readonly userPoolId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The text that the user types: a name or an e-mail address. */
  readonly username: string;
  readonly password: string;
  /** The access token's `username` claim: the same name, or a UUID when signing in by e-mail. */
  readonly providerUsername: string;
  /** Sends an operation with which a test prepares the emulator. Throws unless it succeeds. */
  admin<Answer>(operation: string, body: Record<string, unknown>): Promise<Answer>;
  close(): Promise<void>;
}

/** Starts an emulator; it ends with this process. */
async function startCognitoLocal(options: CognitoLocalOptions): Promise<CognitoLocal> {
  const folder = await Deno.makeTempDir({ prefix: "cognito-local-" });
  await Deno.mkdir(`${folder}/.cognito`);
  await Deno.writeTextFile(
    `${folder}/.cognito/config.json`,
    JSON.stringify({ UserPoolDefaults: { UsernameAttributes: [] } }),
  );
  // The emulator writes the configured port into its tokens, so the port cannot be 0.
  const emulator = await onFreePort((port) => startEmulator(folder, port));
  const { url } = emulator;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> =>
    closing ??= emulator.end().finally(async () => {
      await Deno.remove(folder, { recursive: true });
    });
  try {
    await (await fetch(new URL("/health", url))).json();
    const account = await createAccount(url, options.signIn);
    return {
      ...account,
      url,
      admin: <Answer>(operation: string, body: Record<string, unknown>) =>
        call<Answer>(url, operation, body),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Emulator {
  readonly url: string;
  end(): Promise<void>;
}

async function startEmulator(folder: string, port: number): Promise<Emulator> {
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
    stderr: "piped",
  }).spawn();

  const started = Promise.withResolvers<void>();
  let complaint = "";
  const output = Promise.all([
    eachText(child.stdout, (text) => text.includes("running on http") && started.resolve()),
    eachText(child.stderr, (text) => complaint = (complaint + text).slice(-2000)),
  ]);
  const timer = setTimeout(
    () => started.reject(new Error(`cognito-local was not ready in time: ${complaint}`)),
    START_TIMEOUT_MS,
  );
  const ended = child.status.then(async ({ code }) => {
    await output;
    started.reject(new Error(`cognito-local ended with status ${code}: ${complaint}`));
  });
  const end = async () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // The emulator has already ended.
    }
    await ended;
    await child.stdin.close().catch(() => {});
  };
  try {
    await started.promise;
  } catch (error) {
    await end();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return { url: `http://127.0.0.1:${port}/`, end };
}

async function createAccount(url: string, signIn: CognitoLocalOptions["signIn"]) {
  const username = signIn === "email" ? "learner@example.org" : "learner";
  const password = `Aa1!${crypto.randomUUID()}`;
  const { UserPool } = await call<{ UserPool: { Id: string } }>(url, "CreateUserPool", {
    PoolName: "tests",
    ...(signIn === "email" ? { UsernameAttributes: ["email"] } : {}),
  });
  const userPoolId = UserPool.Id;
  const { UserPoolClient } = await call<
    { UserPoolClient: { ClientId: string; ClientSecret: string } }
  >(url, "CreateUserPoolClient", {
    UserPoolId: userPoolId,
    ClientName: "tests",
    GenerateSecret: true,
    ExplicitAuthFlows: ["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
  });
  const { User } = await call<{ User: { Username: string } }>(url, "AdminCreateUser", {
    UserPoolId: userPoolId,
    Username: username,
    MessageAction: "SUPPRESS",
  });
  await call(url, "AdminSetUserPassword", {
    UserPoolId: userPoolId,
    Username: username,
    Password: password,
    Permanent: true,
  });
  return {
    userPoolId,
    clientId: UserPoolClient.ClientId,
    clientSecret: UserPoolClient.ClientSecret,
    username,
    password,
    providerUsername: User.Username,
  };
}

async function call<Answer>(
  url: string,
  operation: string,
  body: Record<string, unknown>,
): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "x-amz-target": `AWSCognitoIdentityProviderService.${operation}`,
      "content-type": "application/x-amz-json-1.1",
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`cognito-local responded with ${response.status} to ${operation}`, {
      cause: await response.text(),
    });
  }
  return await response.json();
}

async function eachText(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  use: (text: string) => unknown,
): Promise<void> {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) use(text);
}
