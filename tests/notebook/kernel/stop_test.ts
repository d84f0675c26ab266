import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { type CellResult, type Kernel, KernelDiedError, NO_CLIENT, startKernel } from "./kernel.ts";
import { inFolder } from "../../support/child_deno.ts";
import { needing, NO_SIGNALS } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { serveLocal } from "../../support/local_server.ts";

// Longer than the time limit of a cell, so that only Stop can end a call that hangs.
const HANGING_MS = 600_000;

interface Running {
  readonly kernel: Kernel;
  readonly sandbox: Sandbox;
  readonly folder: string;
}

/** Runs steps that share a kernel, in which a user is signed in. Stop is a signal. */
function stopTest(
  name: string,
  steps: Record<string, (running: Running) => Promise<void>>,
): void {
  Deno.test({
    ...needing(NO_SIGNALS ?? NO_CLIENT, name),
    fn: (t) =>
      inFolder(async (folder) => {
        await using sandbox = await startSandbox();
        const env = { ...settingsEnvironment(sandbox.settings), AUTH_TIMEOUT_MS: `${HANGING_MS}` };
        await using kernel = await startKernel({ cwd: folder, env });
        const names =
          "accessToken, authFetch, configure, doctor, download, downloadAll, fetchJson, login, refresh, status";
        await run(kernel, `${importing(names)} await login(); const rows = [1, 2, 3];`);
        for (const [step, fn] of Object.entries(steps)) {
          await t.step(step, () => fn({ kernel, sandbox, folder }));
        }
      }),
  });
}

async function run(kernel: Kernel, cell: string): Promise<CellResult> {
  const result = await kernel.execute(cell);
  assertEquals(result.status, "ok", JSON.stringify(result));
  return result;
}

/** Lets the next requests of `caller` hang, and waits until they arrive. */
async function hang(
  sandbox: Sandbox,
  at: "token" | "api",
  caller: Promise<unknown>,
  times = 1,
): Promise<void> {
  const failure = { at, delayMs: HANGING_MS, times };
  sandbox.failures.push(failure);
  let ended = false;
  const end = () => ended = true;
  caller.then(end, end);
  while (failure.times > 0) {
    if (ended) throw new Error("It ended without these requests");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  sandbox.failures.length = 0;
}

/** Runs a cell that hangs, and presses Stop as soon as it does. */
async function stopWhileHanging(
  { kernel, sandbox }: Running,
  at: "token" | "api",
  cell: string,
  times = 1,
): Promise<CellResult> {
  const running = kernel.execute(cell);
  await hang(sandbox, at, running, times);
  kernel.interrupt();
  return await running;
}

/** Without a listener, Stop ends the kernel. */
async function assertStopKills(kernel: Kernel): Promise<void> {
  kernel.interrupt();
  await assertRejects(
    () => kernel.execute("await new Promise((resolve) => setTimeout(resolve, 60_000))"),
    KernelDiedError,
    "SIGINT",
  );
}

/** Asserts that Stop ended the cell with this call's error, and that the variables still exist. */
async function assertStopped(
  { kernel, folder }: Running,
  call: string,
  result: CellResult,
  before: Record<string, string>,
): Promise<void> {
  assertEquals([result.status, result.ename], ["error", "AuthError"], JSON.stringify(result));
  assertStringIncludes(result.evalue ?? "", `Stopped ${call}(): Stop was pressed`);
  const next = await run(kernel, `[rows.length, status().state, status().username].join()`);
  assertStringIncludes(JSON.stringify(next.outputs), "3,valid,student");
  assertEquals(linesOf(`${folder}/.env`), before);
}

const HANGING: [call: string, at: "token" | "api", cell: string][] = [
  ["authFetch", "api", `await authFetch("/v1/stations")`],
  ["login", "token", "await login({ force: true })"],
  ["refresh", "token", "await refresh()"],
  // A token is refreshed shortly before it expires.
  [
    "accessToken",
    "token",
    "configure({ now: () => Date.now() + 1_750_000 }); await accessToken()",
  ],
  ["doctor", "token", "await doctor({ login: true })"],
];

async function hangingCall(running: Running): Promise<void> {
  const { kernel, folder } = running;
  for (const [call, at, cell] of HANGING) {
    const before = linesOf(`${folder}/.env`);
    await assertStopped(running, call, await stopWhileHanging(running, at, cell), before);
    // A login replaces a refresh whose response is still awaited.
    const again =
      `configure({}); await login({ force: true }); (await authFetch("/v1/stations")).status`;
    const after = await run(kernel, again);
    assertStringIncludes(JSON.stringify(after.outputs), "200");
  }

  // Stop also ends calls that have a signal, and the signal still works.
  const call = `authFetch("/v1/stations", { signal: own.signal })`;
  const stopped = await stopWhileHanging(
    running,
    "api",
    `const own = new AbortController();
     const calls = [${call}, ${call}].map((each) => each.catch(({ code }) => code));
     (await Promise.all(calls)).join()`,
    2,
  );
  assertStringIncludes(JSON.stringify(stopped.outputs), "INTERRUPTED,INTERRUPTED");
  const aborted = await run(
    kernel,
    `own.abort(new Error("enough")); await ${call}.catch((error) => error.message)`,
  );
  assertStringIncludes(JSON.stringify(aborted.outputs), "enough");
}

const WHOLE = `["the first piece", "the rest"]`;
const FIRST = 15;

/**
 * An API that sends only the first piece of each response until `end()`. The promise of `begin()`
 * resolves when a cell requests `/reading`, or when `fetchJson()` has received the first piece.
 */
async function withEndlessBody(
  kernel: Kernel,
  use: (begin: () => Promise<void>, end: () => void) => Promise<void>,
): Promise<void> {
  let reading = Promise.withResolvers<void>();
  let isEndless = true;
  const answer = ({ url, headers }: Request) => {
    if (url.endsWith("/reading")) {
      reading.resolve();
      return new Response();
    }
    const etag = `"one"`;
    const range = headers.get("range");
    if (range !== null) {
      const start = Number(/\d+/.exec(range)?.[0]);
      const sent = `bytes ${start}-${WHOLE.length - 1}/${WHOLE.length}`;
      const init = { status: 206, headers: { etag, "content-range": sent } };
      return new Response(WHOLE.slice(start), init);
    }
    if (!isEndless) return new Response(WHOLE, { headers: { etag } });
    const pieces = [new TextEncoder().encode(WHOLE.slice(0, FIRST))].values();
    const body = new ReadableStream({
      pull(controller) {
        const { value } = pieces.next();
        if (value) return controller.enqueue(value);
        if (headers.get("accept") === "application/json") reading.resolve();
        return new Promise(() => {});
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { etag } });
  };
  await using server = serveLocal(answer);
  const { origin } = server;
  await run(
    kernel,
    `configure({ apiBaseUrl: "${origin}" });
     const read = "${origin}/reading";
     const seconds = (count) => new Promise((end) => setTimeout(end, count * 1_000));
     const work = async () => {
       await fetch(read);
       await seconds(0.5);
     };
     let answer;`,
  );
  const begin = () => {
    isEndless = true;
    reading = Promise.withResolvers();
    return reading.promise;
  };
  await use(begin, () => isEndless = false);
}

async function reading(running: Running): Promise<void> {
  const { kernel, folder } = running;
  const before = linesOf(`${folder}/.env`);
  await withEndlessBody(kernel, async (begin) => {
    for (
      const cell of [
        `fetch(read); await answer.text()`,
        `const copy = answer.clone(); fetch(read); await copy.json()`,
        `for await (const piece of answer.body) fetch(read)`,
        `await answer.body.pipeTo(new WritableStream({ write: () => { fetch(read); } }))`,
        // The body ends with an error when the loop asks for the next piece.
        `for await (const piece of answer.body) await work()`,
      ]
    ) {
      const reading = begin();
      const ending = kernel.execute(`answer = await authFetch("/endless"); ${cell}`);
      await Promise.race([reading, ending]);
      kernel.interrupt();
      await assertStopped(running, "authFetch", await ending, before);
    }
  });
}

async function callWhileReading(running: Running): Promise<void> {
  const { kernel, folder } = running;
  const before = linesOf(`${folder}/.env`);
  await withEndlessBody(kernel, async (begin, end) => {
    for (
      const [call, cell, file] of [
        ["fetchJson", `fetchJson("/endless")`],
        ["download", `download("/endless", "one.bin")`, "one.bin"],
        ["downloadAll", `downloadAll([["/endless", "two.bin"]])`, "two.bin"],
      ] as [string, string, string?][]
    ) {
      const reading = begin();
      const ending = kernel.execute(`await ${cell}`);
      // Part of the body has arrived.
      await Promise.race([file ? begun(folder) : reading, ending]);
      kernel.interrupt();
      await assertStopped(running, call, await ending, before);
      end();
      const next = await run(kernel, `JSON.stringify(await ${cell})`);
      // The length is not known, so the last byte is requested again.
      const wanted = file ? `"resumedFrom":${FIRST - 1}` : `"the first piece","the rest"`;
      assertStringIncludes(JSON.stringify(next.outputs).replaceAll("\\", ""), wanted);
      if (file) assertEquals(await Deno.readTextFile(`${folder}/${file}`), WHOLE);
    }
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assertEquals(names, [".env", ".env.lock", "one.bin", "two.bin"]);
  });
}

/** Resolves when a part file contains something. */
async function begun(folder: string): Promise<void> {
  using watcher = Deno.watchFs(folder);
  const exists = () =>
    [...Deno.readDirSync(folder)].some(({ name }) =>
      name.endsWith(".part") && Deno.statSync(`${folder}/${name}`).size > 0
    );
  if (exists()) return;
  for await (const _ of watcher) if (exists()) return;
}

/** The first Stop ends the reading. Its listener remains for a second, in case Stop is pressed twice. */
async function abandonedReading({ kernel }: Running): Promise<void> {
  await withEndlessBody(kernel, async () => {
    await run(kernel, `const left = (await authFetch("/endless")).body.getReader();`);
    await run(kernel, `await left.read();`);
    kernel.interrupt();
    await run(kernel, `await seconds(3); rows.length`);
    await assertStopKills(kernel);
  });
}

stopTest("Stop in a notebook ends the current call and keeps the kernel", {
  "a call that waits for a response ends with an error": hangingCall,
  "reading a body ends with an error": reading,
  "fetchJson() and downloads end with an error, and a download can be resumed": callWhileReading,
  "if a body was read only in part, the second Stop ends the kernel": abandonedReading,
});

stopTest("Stop ends the kernel when no call is running", {
  "after calls of all kinds": async ({ kernel, sandbox }) => {
    const shown = await run(
      kernel,
      `const [first, second] = [await authFetch("/v1/whoami"), await authFetch("/v1/whoami")];
     const copy = first.clone();
     const pieces = await new Response(first.body).text();
     [first.url, (await copy.json()).username, pieces === await second.text()].join()`,
    );
    assertStringIncludes(
      JSON.stringify(shown.outputs),
      `${sandbox.apiUrl}/v1/whoami,student,true`,
      "a notebook's response works like that of fetch()",
    );
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
     status();`,
    );
    await withEndlessBody(kernel, async () => {
      await run(kernel, `const unread = await authFetch("/endless"); unread.body.locked`);
      await assertStopKills(kernel);
    });
  },
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
      await hang(sandbox, "api", output);
      child.kill("SIGINT");
      const { signal, stdout, stderr } = await output;
      assertEquals(signal, "SIGINT");
      assertEquals([stdout.length, stderr.length], [0, 0]);
    }),
});
