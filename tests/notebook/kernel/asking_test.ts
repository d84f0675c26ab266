import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { type CellResult, type Kernel, kernelTest, startKernel } from "./kernel.ts";
import { NO_SIGNALS } from "../../support/needs.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { until } from "../../support/until.ts";

/** The settings of a notebook, without user name and password, and the answers to its prompts. */
interface Desk {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly username: string;
  readonly password: string;
  readonly portalString: string;
  readonly env: Record<string, string>;
}

interface Running extends Desk {
  readonly kernel: Kernel;
}

async function withDesk(use: (desk: Desk) => Promise<void>): Promise<void> {
  await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
  const user = { username: "ada", password: ` ${crypto.randomUUID()} ` };
  sandbox.addUser(user);
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    const env = settingsEnvironment(sandbox.settings, "USERNAME", "PASSWORD");
    const portalString = await sandbox.portalToken();
    await use({ sandbox, folder, ...user, portalString, env });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A person who types these answers in turn. */
function typing(...answers: string[]): { onInput: () => string } {
  const left = [...answers];
  return {
    onInput: () => {
      const answer = left.shift();
      if (answer === undefined) throw new Error("the cell asked once too often");
      return answer;
    },
  };
}

const masks = (result: CellResult): boolean[] => result.inputs.map(({ password }) => password);

/** The content that the notebook file would keep: outputs and prompts, but not masked answers. */
const kept = (result: CellResult): string =>
  JSON.stringify([result.outputs, result.inputs, result.evalue, result.traceback]);

function assertHides(text: string, { portalString, password, sandbox }: Desk): void {
  const { clientSecret } = sandbox.settings;
  const secrets = [portalString.replace("bearer ", ""), password.trim(), clientSecret];
  assertEquals(repeatedPart(text, secrets), undefined);
}

const CANCELED =
  "Cannot log in: nothing was entered, which cancels the login; run the cell again (help: platform-auth explain PROMPT_UNAVAILABLE)";

/** A login, the answers to its prompts, which of them are masked, and the result. */
const LOGINS: [
  options: string,
  answers: (desk: Desk, wrong: string) => string[],
  masked: boolean[],
  result: string,
][] = [
  ["", ({ portalString }) => [`"${portalString}"\n`], [true], "Signed in as student"],
  [`{ strategy: "portal" }`, ({ portalString }) => [portalString], [true], "Signed in as student"],
  [
    `{ strategy: "password" }`,
    ({ password }) => ["ada", password],
    [false, true],
    "Signed in as ada",
  ],
  // A rejected user name and password may be typed once more.
  [
    "",
    ({ password }, wrong) => ["", " aad ", wrong, "ada", password],
    [true, false, true, false, true],
    "Signed in as ada",
  ],
  [
    "",
    (_, wrong) => ["", "ada", wrong, "", wrong],
    [true, false, true, false, true],
    "ProviderError",
  ],
  // An empty answer after the first prompt cancels the login.
  ["", () => ["", "ada", ""], [true, false, true], CANCELED],
];

async function asksAndHides({ kernel, ...desk }: Running): Promise<void> {
  const wrong = crypto.randomUUID();
  const prompts: string[] = [];
  for (const [options, answers, masked, wanted] of LOGINS) {
    const call = `await login({ ...${options || "{}"}, force: true })`;
    const result = await kernel.execute(call, typing(...answers(desk, wrong)));
    assertEquals(masks(result), masked, call);
    assertStringIncludes(kept(result), wanted, call);
    assertHides(kept(result), desk);
    assertEquals(repeatedPart(kept(result), [wrong]), undefined);
    prompts.push(...result.inputs.map(({ prompt }) => prompt));
  }
  assertMatch(prompts[0] ?? "", /Copy Token[^]*press Enter for user name and password/);
  assertMatch(
    prompts[3] ?? "",
    /^Password of ada for 127\.0\.0\.1:\d+\n\(host set in the environment\):$/,
  );
  assertMatch(prompts[7] ?? "", /^User name or password rejected\.\nUser name, or Enter for aad:$/);
  assertEquals(desk.sandbox.requests.length, 5);
  const again = await kernel.execute("await login()", typing());
  assertEquals([again.status, again.inputs], ["ok", []]);
  const call = await kernel.execute('await authFetch("/v1/stations", "POST")', typing());
  assertEquals([call.status, call.ename], ["error", "TypeError"], "cells are not type-checked");
}

async function showsHowToCancel({ kernel, ...desk }: Running): Promise<void> {
  await kernel.execute(`await logout(); configure({ portalUrl: "https://portal.example/" })`);
  const left = ["", "ada", desk.password];
  const seen: string[] = [];
  const result = await kernel.execute("await login()", {
    onInput: async (prompt, _, outputs) => {
      assertEquals(prompt.split("\n").filter((line) => line.length > 60), []);
      await until(() => JSON.stringify(outputs).includes("Stop"));
      seen.push(String(outputs[0]?.data?.["text/plain"]));
      assertEquals(outputs.length, 1, "one line, however many questions");
      return left.shift() ?? "";
    },
  });
  const open = "A prompt is open below the cell (VS Code: top of window).\n" +
    "Stop, then Enter, cancels.";
  const { host } = new URL(desk.sandbox.apiUrl);
  const receiver = `Receives the token: ${host} (host set in the environment)`;
  assertEquals(seen, [`Portal: https://portal.example/\n${receiver}\n${open}`, open, open]);
  const [line, card] = result.outputs;
  assertEquals(line?.data, { "text/plain": "", "text/html": "" });
  assertEquals([card?.output_type, result.outputs.length], ["execute_result", 2]);
  const empty = await kernel.execute(
    `await login({ strategy: "password", username: "ada" })`,
    typing(""),
  );
  assertStringIncludes(empty.traceback?.join("\n") ?? "", "\n→ run the cell again\n");
}

async function stopsAtAnyPrompt({ kernel, ...desk }: Running): Promise<void> {
  await kernel.execute("await logout()");
  const byPassword = ["", "ada", desk.password];
  const wrong = crypto.randomUUID();
  const stories: [answers: string[], sent: number][] = [
    [[desk.portalString], 0],
    [byPassword.slice(0, 2), 0],
    [byPassword, 0],
    [["", "ada", wrong, desk.password], 1],
  ];
  for (const [answers, sent] of stories) {
    const before = desk.sandbox.requests.length;
    const typed = typing(...answers);
    let asked = 0;
    const result = await kernel.execute("await login()", {
      onInput: () => {
        if (++asked === answers.length) kernel.interrupt();
        return typed.onInput();
      },
    });
    assertMatch(result.evalue ?? "", /^Stopped login\(\): .*explain INTERRUPTED/);
    assertEquals(asked, answers.length);
    assertHides(kept(result), desk);
    assertEquals(repeatedPart(kept(result), [wrong]), undefined);
    const after = await kernel.execute("status().state");
    assertStringIncludes(JSON.stringify(after.outputs), "none");
    assertEquals(desk.sandbox.requests.length - before, sent, "nothing is sent after Stop");
  }
}

/** Runs the cells without standard input, as nbconvert does. */
async function listsMissing({ kernel, sandbox }: Running): Promise<void> {
  const before = sandbox.requests.length;
  await kernel.execute(`await logout({ revoke: false }); Deno.env.set("USER_POOL_ID", "");`);
  const missing = await kernel.execute("await login()");
  assertMatch(missing.evalue ?? "", /USER_POOL_ID, USERNAME, PASSWORD.* MISSING_SETTINGS\)$/);
  const portal = await kernel.execute(`await login({ strategy: "portal" })`);
  assertMatch(portal.evalue ?? "", /login\({ portalToken }\).* PROMPT_UNAVAILABLE\)$/);
  assertEquals(sandbox.requests.length, before);
}

kernelTest("login() prompts in a notebook", (t) =>
  withDesk(async (desk) => {
    await using kernel = await startKernel({ cwd: desk.folder, env: desk.env });
    const imported = await kernel.execute(importing("authFetch, configure, login, logout, status"));
    assertEquals(imported.status, "ok");
    const running = { ...desk, kernel };
    await t.step("login() prompts for missing settings and shows no secret", () =>
      asksAndHides(running));
    await t.step("a line says how to cancel the prompt", () =>
      showsHowToCancel(running));
    if (NO_SIGNALS === undefined) {
      await t.step("Stop ends the login at any prompt", () => stopsAtAnyPrompt(running));
    }
    await t.step("without standard input, an error lists the missing settings", () =>
      listsMissing(running));
  }));
