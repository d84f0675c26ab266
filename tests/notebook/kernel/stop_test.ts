import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { type CellResult, type Kernel, KernelDiedError, NO_CLIENT, startKernel } from "./kernel.ts";
import { inFolder, namesIn } from "../../support/child_deno.ts";
import { needing, NO_SIGNALS } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { type LocalServer, serveLocal } from "../../support/local_server.ts";
import { until } from "../../support/until.ts";

// Longer than the time limit of a cell, so that only Stop can end a call that hangs.
const HANGING_MS = 600_000;

/** A kernel in which a user is signed in. */
interface Running {
  readonly kernel: Kernel;
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly api: Endless;
}

async function run(kernel: Kernel, cell: string): Promise<string> {
  const result = await kernel.execute(cell);
  assertEquals(result.status, "ok", JSON.stringify(result));
  return JSON.stringify(result.outputs);
}

/** Lets the next requests hang, and waits until they arrive. */
async function hang(sandbox: Sandbox, at: "token" | "api", times = 1): Promise<void> {
  const failure = { at, delayMs: HANGING_MS, times };
  sandbox.failures.push(failure);
  await until(() => failure.times === 0);
  sandbox.failures.length = 0;
}

/** Presses Stop while the requests of a cell hang. */
async function stopWhileHanging(
  { kernel, sandbox }: Running,
  at: "token" | "api",
  cell: string,
  times = 1,
): Promise<CellResult> {
  const running = kernel.execute(cell);
  await hang(sandbox, at, times);
  kernel.interrupt();
  return await running;
}

/** Asserts that Stop ended the cell with this call's error, and kept the variables and the session. */
async function assertStopped(
  { kernel, folder }: Running,
  call: string,
  result: CellResult,
  before: Record<string, string>,
): Promise<void> {
  assertEquals([result.status, result.ename], ["error", "AuthError"], JSON.stringify(result));
  assertStringIncludes(result.evalue ?? "", `Stopped ${call}(): Stop was pressed`);
  const next = await run(kernel, `[rows.length, status().state, status().username].join()`);
  assertStringIncludes(next, "3,valid,student");
  assertEquals(linesOf(`${folder}/.env`), before);
}

const HANGING: [call: string, at: "token" | "api", cell: string][] = [
  ["authFetch", "api", `await authFetch("/v1/stations")`],
  ["login", "token", "await login({ force: true })"],
  ["doctor", "token", "await doctor({ login: true })"],
  // accessToken(), which follows, refreshes a token shortly before it expires.
  ["refresh", "token", "configure({ now: () => Date.now() + 1_750_000 }); await refresh()"],
];

async function hangingCall(running: Running): Promise<void> {
  const { kernel, folder, api } = running;
  const before = linesOf(`${folder}/.env`);
  for (const [call, at, cell] of HANGING) {
    await assertStopped(running, call, await stopWhileHanging(running, at, cell), before);
  }
  // The request of refresh() still hangs, and accessToken() waits for the same response.
  const waiting = api.begin();
  const ending = kernel.execute("fetch(read); await accessToken()");
  await waiting;
  kernel.interrupt();
  await assertStopped(running, "accessToken", await ending, before);
  // A login replaces it.
  const again = `configure({}); await login({ force: true });
    (await authFetch("/v1/stations")).status`;
  assertStringIncludes(await run(kernel, again), "200");

  // Stop also ends calls that have a signal, and the signal still works.
  const call = `authFetch("/v1/stations", { signal: own.signal })`;
  const { outputs } = await stopWhileHanging(
    running,
    "api",
    `const own = new AbortController();
     const calls = [${call}, ${call}].map((each) => each.catch(({ code }) => code));
     (await Promise.all(calls)).join()`,
    2,
  );
  assertStringIncludes(JSON.stringify(outputs), "INTERRUPTED,INTERRUPTED");
  const abort = `own.abort(new Error("enough")); await ${call}.catch(({ message }) => message)`;
  assertStringIncludes(await run(kernel, abort), "enough");
}

const WHOLE = `["the first piece", "the rest"]`;

/** An API that sends only the first piece of `/endless` until `end()`. */
interface Endless extends LocalServer {
  /** Resolves when a cell requests `/reading`, or when `fetchJson()` has received the first piece. */
  begin(): Promise<void>;
  end(): void;
}

function endlessApi(): Endless {
  let reading = Promise.withResolvers<void>();
  let isEndless = true;
  const server = serveLocal(({ url, headers }) => {
    if (url.endsWith("/reading")) reading.resolve();
    else if (isEndless) {
      const pieces = [new TextEncoder().encode(WHOLE.slice(0, 15))].values();
      const body = new ReadableStream({
        pull(controller) {
          const { value } = pieces.next();
          if (value) return controller.enqueue(value);
          if (headers.get("accept") === "application/json") reading.resolve();
          return new Promise(() => {});
        },
      }, { highWaterMark: 0 });
      return new Response(body);
    }
    return new Response(WHOLE);
  });
  return {
    ...server,
    begin() {
      isEndless = true;
      reading = Promise.withResolvers();
      return reading.promise;
    },
    end: () => void (isEndless = false),
  };
}

const READINGS = [
  `fetch(read); await answer.text()`,
  `const copy = answer.clone(); fetch(read); await copy.json()`,
  // Between two reads. The loop ends with the error when it asks for the next piece.
  `for await (const piece of answer.body) await fetch(read).then(() => pause(500))`,
];

async function reading(running: Running): Promise<void> {
  const { kernel, folder, api } = running;
  const before = linesOf(`${folder}/.env`);
  for (const cell of READINGS) {
    const reading = api.begin();
    const ending = kernel.execute(`answer = await authFetch(endless); ${cell}`);
    await Promise.race([reading, ending]);
    kernel.interrupt();
    await assertStopped(running, "authFetch", await ending, before);
  }
}

/** Whether a download has saved its first piece. */
const hasBegun = (folder: string) => (): boolean =>
  namesIn(folder).some((name) =>
    name.endsWith(".part") && Deno.statSync(`${folder}/${name}`).size > 0
  );

const WHOLE_CALLS: [call: string, cell: string, file?: string][] = [
  ["fetchJson", `await fetchJson(endless)`],
  ["download", `await download(endless, "one.bin")`, "one.bin"],
  ["downloadAll", `await downloadAll([[endless, "two.bin"]])`, "two.bin"],
];

async function callWhileReading(running: Running): Promise<void> {
  const { kernel, folder, api } = running;
  const before = linesOf(`${folder}/.env`);
  for (const [call, cell, file] of WHOLE_CALLS) {
    const reading = api.begin();
    const ending = kernel.execute(cell);
    await (file ? until(hasBegun(folder)) : reading);
    kernel.interrupt();
    await assertStopped(running, call, await ending, before);
    api.end();
    await run(kernel, cell);
    if (file) assertEquals(await Deno.readTextFile(`${folder}/${file}`), WHOLE);
  }
  assertEquals(namesIn(folder), [".env", ".env.lock", "one.bin", "two.bin"]);
}

/** None of these calls may leave a listener behind: without one, Stop ends the kernel. */
async function afterCallsOfAllKinds({ kernel, sandbox, api }: Running): Promise<void> {
  const shown = await run(
    kernel,
    `const [first, second] = [await authFetch("/v1/whoami"), await authFetch("/v1/whoami")];
     const twin = first.clone();
     const pieces = await new Response(first.body).text();
     [first.url, (await twin.json()).username, pieces === await second.text()].join()`,
  );
  assertStringIncludes(
    shown,
    `${sandbox.apiUrl}/v1/whoami,student,true`,
    "a notebook's response works like that of fetch()",
  );
  void api.begin();
  await run(
    kernel,
    `for await (const _ of (await authFetch("/v1/stations")).body);
     for await (const _ of (await authFetch("/v1/stations")).body) break;
     await authFetch("/v1/nowhere");
     await authFetch("https://elsewhere.example/").catch(() => {});
     await refresh();
     await login({ strategy: "nonsense" }).catch(() => {});
     await login({ username: "student", password: "wrong" }).catch(() => {});
     await accessToken();
     status();
     const unread = await authFetch(endless);
     const left = (await authFetch(endless)).body.getReader();
     await left.read();
     const pressed = Promise.withResolvers();
     Deno.addSignalListener("SIGINT", pressed.resolve);`,
  );
  // The first Stop ends the reading. Its listener remains for a second, in case Stop is pressed twice.
  kernel.interrupt();
  await run(
    kernel,
    `await pressed.promise;
     Deno.removeSignalListener("SIGINT", pressed.resolve);
     await pause(1_100);`,
  );
  kernel.interrupt();
  await assertRejects(() => kernel.execute("await pause(60_000)"), KernelDiedError, "SIGINT");
}

Deno.test({
  ...needing(NO_SIGNALS ?? NO_CLIENT, "Stop in a notebook ends the current call, not the kernel"),
  fn: (t) =>
    inFolder(async (folder) => {
      await using sandbox = await startSandbox();
      await using api = endlessApi();
      const env = {
        ...settingsEnvironment(sandbox.settings),
        AUTH_TIMEOUT_MS: `${HANGING_MS}`,
        API_ALLOWED_ORIGINS: api.origin,
      };
      await using kernel = await startKernel({ cwd: folder, env });
      const names =
        "accessToken, authFetch, configure, doctor, download, downloadAll, fetchJson, " +
        "login, refresh, status";
      await run(
        kernel,
        `${importing(names)} await login();
         const rows = [1, 2, 3];
         const [endless, read] = ["${api.origin}/endless", "${api.origin}/reading"];
         const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
         let answer;`,
      );
      const running = { kernel, sandbox, folder, api };
      await t.step("while it waits for a response", () => hangingCall(running));
      await t.step("while it reads a body", () => reading(running));
      await t.step(
        "while fetchJson() or a download receives data",
        () => callWhileReading(running),
      );
      await t.step(
        "Stop ends the kernel when no call is running",
        () => afterCallsOfAllKinds(running),
      );
    }),
});

Deno.test({
  ...needing(NO_SIGNALS, "Ctrl-C ends a script during a call"),
  fn: () =>
    inFolder(async (folder) => {
      await using sandbox = await startSandbox();
      const script = `${importing("authFetch, login")}
        await login();
        await authFetch("/v1/stations").catch((error) => console.log("caught", error.name));`;
      await Deno.writeTextFile(`${folder}/script.ts`, script);
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "--no-lock", "-A", "script.ts"],
        env: settingsEnvironment(sandbox.settings),
        cwd: folder,
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const output = child.output();
      await hang(sandbox, "api");
      child.kill("SIGINT");
      const { signal, stdout, stderr } = await output;
      assertEquals(signal, "SIGINT");
      assertEquals([stdout.length, stderr.length], [0, 0]);
    }),
});
