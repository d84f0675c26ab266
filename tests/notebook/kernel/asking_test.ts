import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type NewUser, type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import {
  type CellResult,
  type ExecuteOptions,
  type Kernel,
  kernelTest,
  type Output,
  startKernel,
} from "./kernel.ts";
import { NO_SIGNALS } from "../../support/needs.ts";
import { inFolder } from "../../support/child_deno.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";
import { until } from "../../support/until.ts";

/** A kernel whose settings lack user name and password, and the answers to its prompts. */
interface Desk {
  readonly kernel: Kernel;
  readonly sandbox: Sandbox;
  readonly password: string;
  readonly portalString: string;
}

type Answer = string | ((outputs: readonly Output[]) => Promise<string>);

/** A person who types these answers in turn. */
function typing(...answers: Answer[]): ExecuteOptions {
  const left = [...answers];
  return {
    onInput: async (_, __, outputs) => {
      const answer = left.shift();
      if (answer === undefined) throw new Error("the cell asked once too often");
      return typeof answer === "string" ? answer : await answer(outputs);
    },
  };
}

/** Types the code for the key that is on the screen. */
const codeFor = ({ sandbox }: Desk, username: string): Answer => async (outputs) => {
  await until(() => JSON.stringify(outputs).includes("otpauth:"));
  assertMatch(JSON.stringify(outputs), /<svg .*viewBox/);
  return await sandbox.totp(username);
};

const masks = (result: CellResult): boolean[] => result.inputs.map(({ password }) => password);

/** The content that the notebook file would keep: outputs and prompts, but not masked answers. */
const kept = (result: CellResult): string =>
  JSON.stringify([result.outputs, result.inputs, result.evalue, result.traceback]);

function assertHides(
  text: string,
  { portalString, password, sandbox }: Desk,
  ...more: string[]
): void {
  const { clientSecret } = sandbox.settings;
  const secrets = [portalString.replace("bearer ", ""), password.trim(), clientSecret, ...more];
  assertEquals(repeatedPart(text, secrets), undefined);
}

/** The options of a login, the answers to its prompts, which of them are masked, and the result. */
const LOGINS: [
  options: string,
  answers: (desk: Desk, wrong: string) => string[],
  masked: boolean[],
  result: string,
][] = [
  ["", ({ portalString }) => [`"${portalString}"\n`], [true], "Signed in as student"],
  // A rejected user name and password may be typed once more.
  [
    "",
    ({ password }, wrong) => ["", " aad ", wrong, "ada", password],
    [true, false, true, false, true],
    "Signed in as ada",
  ],
  // An empty answer after the first prompt cancels the login.
  [`strategy: "password"`, () => ["ada", ""], [false, true], "explain PROMPT_UNAVAILABLE"],
];

async function asksAndHides(desk: Desk): Promise<void> {
  const wrong = crypto.randomUUID();
  const prompts: string[] = [];
  for (const [options, answers, masked, wanted] of LOGINS) {
    const call = `await login({ force: true, ${options} })`;
    const result = await desk.kernel.execute(call, typing(...answers(desk, wrong)));
    assertEquals(masks(result), masked, call);
    assertStringIncludes(kept(result), wanted, call);
    assertHides(kept(result), desk, wrong);
    prompts.push(...result.inputs.map(({ prompt }) => prompt));
  }
  assertMatch(prompts[0] ?? "", /Copy Token[^]*press Enter for user name and password/);
  assertMatch(
    prompts[3] ?? "",
    /^Password of aad for 127\.0\.0\.1:\d+\n\(host set in the environment\):$/,
  );
  assertMatch(prompts[4] ?? "", /^User name or password rejected\.\nUser name, or Enter for aad:$/);
  assertEquals(desk.sandbox.requests.length, 2);
  const again = await desk.kernel.execute("await login()", typing());
  assertEquals([again.status, again.inputs], ["ok", []]);
}

async function showsHowToCancel(desk: Desk): Promise<void> {
  await desk.kernel.execute(`await logout(); configure({ portalUrl: "https://portal.example/" })`);
  const open = "A prompt is open below the cell (VS Code: top of window).\n" +
    "Stop, then Enter, cancels.";
  const { host } = new URL(desk.sandbox.apiUrl);
  const receiver = `Receives the token: ${host} (host set in the environment)`;
  const shown = [`Portal: https://portal.example/\n${receiver}\n${open}`, open, open];
  const left = ["", "ada", desk.password];
  const result = await desk.kernel.execute("await login()", {
    onInput: async (prompt, _, outputs) => {
      assertEquals(prompt.split("\n").filter((line) => line.length > 60), []);
      const text = shown.shift();
      await until(() => outputs[0]?.data?.["text/plain"] === text);
      assertEquals(outputs.length, 1, "one line, however many questions");
      return left.shift() ?? "";
    },
  });
  const [line, card] = result.outputs;
  assertEquals(line?.data, { "text/plain": "", "text/html": "" });
  assertEquals([card?.output_type, result.outputs.length], ["execute_result", 2]);
}

async function promptsForFurtherSteps(desk: Desk): Promise<void> {
  const { kernel, sandbox, password } = desk;
  const next = `Aa1!${crypto.randomUUID()}`;
  const email = "who@example.org";
  const mailed: Answer = () => Promise.resolve(sandbox.codes.at(-1)?.code ?? "");
  const users: [user: Omit<NewUser, "password">, answers: Answer[], masked: boolean[]][] = [
    [
      { username: "eve", challenge: ["NEW_PASSWORD_REQUIRED", "MFA_SETUP"] },
      [next, next, email, codeFor(desk, "eve")],
      [true, true, false, true],
    ],
    [
      { username: "mary", challenge: "SELECT_MFA_TYPE", phone: "+15555550100", email },
      ["3", mailed],
      [false, true],
    ],
  ];
  for (const [user, answers, masked] of users) {
    sandbox.addUser({ ...user, password });
    const result = await kernel.execute(
      `await login({ strategy: "password", force: true })`,
      typing(user.username, password, ...answers),
    );
    assertStringIncludes(kept(result), `Signed in as ${user.username}`);
    assertEquals(masks(result), [false, true, ...masked]);
    const codes = sandbox.codes.map(({ code }) => code);
    assertHides(kept(result), desk, next, "otpauth:", ...codes);
  }
}

async function stopsAtAnyPrompt(desk: Desk): Promise<void> {
  const { kernel, sandbox, password, portalString } = desk;
  await kernel.execute("await logout()");
  const wrong = crypto.randomUUID();
  sandbox.addUser({ username: "joan", password, challenge: "MFA_SETUP" });
  const stories: [answers: Answer[], last: Answer, sent: number][] = [
    [[], portalString, 0],
    [["", "ada", wrong], password, 1],
    [["", "joan", password], codeFor(desk, "joan"), 2],
  ];
  for (const [answers, last, sent] of stories) {
    const before = sandbox.requests.length;
    const stopping: Answer = async (outputs) => {
      const answer = typeof last === "string" ? last : await last(outputs);
      kernel.interrupt();
      return answer;
    };
    const result = await kernel.execute("await login()", typing(...answers, stopping));
    assertMatch(result.evalue ?? "", /^Stopped login\(\): .*explain INTERRUPTED/);
    assertEquals(result.inputs.length, answers.length + 1);
    const after = await kernel.execute("status().state");
    assertStringIncludes(JSON.stringify(after.outputs), "none");
    assertEquals(sandbox.requests.length - before, sent, "nothing is sent after Stop");
    assertHides(kept(result), desk, wrong, "otpauth:");
  }
}

kernelTest("login() prompts in a notebook", (t) =>
  inFolder(async (folder) => {
    await using sandbox = await startSandbox({ clientSecret: crypto.randomUUID() });
    const password = ` ${crypto.randomUUID()} `;
    sandbox.addUser({ username: "ada", password });
    const portalString = await sandbox.portalToken();
    const env = settingsEnvironment(sandbox.settings, "USERNAME", "PASSWORD");
    await using kernel = await startKernel({ cwd: folder, env });
    await kernel.execute(importing("configure, login, logout, status"));
    // Otherwise a busy machine would fetch it too late for a prompt.
    await kernel.execute(`await import("npm:uqr@0.1.3"); undefined`);
    const desk = { kernel, sandbox, password, portalString };
    await t.step("for missing settings, and shows no secret", () => asksAndHides(desk));
    await t.step("below a line that says how to cancel", () => showsHowToCancel(desk));
    await t.step("for each further step", () => promptsForFurtherSteps(desk));
    if (NO_SIGNALS === undefined) {
      await t.step("and Stop ends the login at any of them", () => stopsAtAnyPrompt(desk));
    }
  }));
