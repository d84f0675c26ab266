import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder } from "../../support/child_deno.ts";
import { importing } from "../../support/sandbox_env.ts";
import {
  CHALLENGE_CASES,
  type ChallengeCase,
  NEW_PASSWORD,
  type Turn,
  typedFor,
  USERNAME,
} from "../../session/challenges/cases.ts";
import { until } from "../../support/until.ts";
import { type CellResult, type Kernel, kernelTest, type Output, startKernel } from "./kernel.ts";

/** A user of a case, and a cell that makes the session `session`. */
async function atDesk(
  kernel: Kernel,
  user: ChallengeCase["user"],
  use: (sandbox: Sandbox) => Promise<void>,
): Promise<void> {
  await using sandbox = await startSandbox();
  const password = crypto.randomUUID();
  sandbox.addUser({ username: USERNAME, password, ...user });
  const options = { ...sandbox.settings, envFile: false, username: USERNAME, password };
  const made = `globalThis.session = createSession(${JSON.stringify(options)}); undefined`;
  assertEquals((await kernel.execute(made)).status, "ok");
  await use(sandbox);
}

/** The content that the notebook file would keep. */
const kept = (result: CellResult): string =>
  JSON.stringify([result.outputs, result.inputs, result.evalue, result.traceback]);

const shown = (outputs: readonly Output[]): string =>
  JSON.stringify(outputs).replaceAll("\\n", "\n");

/** Resolves when the key is on the screen. */
async function keyOn(outputs: readonly Output[]): Promise<string> {
  await until(() => shown(outputs).includes("otpauth:"));
  return /secret=([A-Z2-7]+)/.exec(shown(outputs))?.[1] ?? "";
}

/** Types the answers in turn. @returns The result, and the key that was shown for an app, if any. */
async function typeAt(kernel: Kernel, sandbox: Sandbox, turns: readonly Turn[]) {
  const left = [...turns];
  let typed: string[] = [];
  let key = "";
  const secrets = [NEW_PASSWORD];
  const result = await kernel.execute("await session.login({ force: true })", {
    onInput: async (prompt, _, outputs) => {
      if (typed.length > 0) return typed.shift() ?? "";
      const turn = left.shift();
      if (turn === undefined) throw new Error(`asked once too often: ${prompt}`);
      assertMatch(prompt.replaceAll("\n", " "), turn.says);
      if (turn.challenge === "MFA_SETUP") {
        key = await keyOn(outputs);
        assertMatch(shown(outputs), /<svg .*viewBox/);
        secrets.push(key);
      }
      const answers = await turn.answer(sandbox);
      const [first = "", ...rest] = typedFor(answers);
      typed = rest;
      // The wrong code 000000 is also a color.
      secrets.push(
        ...Object.values(answers).map((each) => each.replaceAll(" ", ""))
          .filter((each) => /^(?!0+$)\d{6,8}$/.test(each)),
      );
      return first;
    },
  });
  assertEquals(left, []);
  assertEquals(repeatedPart(kept(result), secrets), undefined);
  return { result, key };
}

async function promptsForEachStep(kernel: Kernel): Promise<void> {
  // Together they need each kind of masked prompt, an unmasked one, and a shown key.
  const cases = CHALLENGE_CASES.filter(({ typedIn }) => typedIn?.includes("kernel"));
  assertEquals(cases.length, 3);
  for (const { title, user, turns } of cases) {
    await atDesk(kernel, user, async (sandbox) => {
      const { result, key } = await typeAt(kernel, sandbox, turns);
      assertEquals([result.status, result.evalue], ["ok", undefined], title);
      assertStringIncludes(kept(result), `Signed in as ${USERNAME}`, title);
      for (const { prompt, password } of result.inputs) {
        assertEquals(password, !/^How to get|^email of/.test(prompt), prompt);
      }
      const setsUp = turns.some(({ challenge }) => challenge === "MFA_SETUP");
      assertEquals([key !== "", kept(result).includes("was shown here")], [setsUp, setsUp], title);
    });
  }
}

async function stopsAtAStep(kernel: Kernel): Promise<void> {
  await atDesk(kernel, { challenge: "MFA_SETUP" }, async (sandbox) => {
    const result = await kernel.execute("await session.login()", {
      onInput: async (_, __, outputs) => {
        await keyOn(outputs);
        kernel.interrupt();
        return await sandbox.totp(USERNAME);
      },
    });
    assertMatch(result.evalue ?? "", /^Stopped login\(\).*explain INTERRUPTED/);
    const after = await kernel.execute("session.status().state");
    assertStringIncludes(shown(after.outputs), "none");
    const sent = sandbox.requests.map(({ operation }) => operation);
    assertEquals(sent, ["InitiateAuth", "AssociateSoftwareToken"]);
    assert(!kept(result).includes("otpauth"), "the key is removed even after the cell's end");
  });
}

kernelTest("a notebook prompts for further steps of a login", (t) =>
  inFolder(async (folder) => {
    await using kernel = await startKernel({ cwd: folder, env: { NO_COLOR: "1" } });
    await kernel.execute(importing("createSession"));
    await t.step("login() prompts for each step", () => promptsForEachStep(kernel));
    // Stop is a signal, which Windows does not have.
    if (Deno.build.os !== "windows") {
      await t.step("Stop ends the login at a step", () => stopsAtAStep(kernel));
    }
  }));
