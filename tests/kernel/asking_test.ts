/**
 * What a user meets in a real Deno kernel: questions, cards, errors and Stop. The client for the
 * kernel is `kernel.ts`, with its parts beside it.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Sandbox, startSandbox } from "../../src/sandbox/mod.ts";
import { repeatedPart } from "../support/canaries.ts";
import { type CellResult, type Kernel, startKernel } from "./kernel.ts";
import { needing, NO_SIGNALS } from "../support/needs.ts";
import { inTerminal, type Seen, terminalTest } from "../support/terminal.ts";
import { importing, settingsEnvironment } from "../support/sandbox_env.ts";

/** A notebook whose settings lack user name and password, and what is typed there. */
interface Desk {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly username: string;
  readonly password: string;
  readonly portalString: string;
  readonly env: Record<string, string>;
}

/** A notebook on a real kernel, with `login` imported, in a folder of its own. */
async function atDesk(
  use: (desk: Desk & { kernel: Kernel }) => Promise<void>,
  leaveOut: readonly string[] = [],
  more: Record<string, string> = {},
): Promise<void> {
  await withDesk(async (desk) => {
    const env = { ...desk.env, ...Object.fromEntries(leaveOut.map((name) => [name, ""])), ...more };
    await using kernel = await startKernel({ cwd: desk.folder, env });
    const imported = await kernel.execute(importing("authFetch, login, status"));
    assertEquals(imported.status, "ok");
    await use({ ...desk, kernel });
  });
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

/** What the notebook file would keep: outputs and questions, but not masked answers. */
const kept = (result: CellResult): string =>
  JSON.stringify([result.outputs, result.inputs, result.evalue, result.traceback]);

function assertHides(text: string, { portalString, password, sandbox }: Desk): void {
  const { clientSecret } = sandbox.settings;
  const secrets = [portalString.replace("bearer ", ""), password.trim(), clientSecret];
  assertEquals(repeatedPart(text, secrets), undefined);
}

Deno.test("in a notebook login() takes a portal string, masked", async () => {
  await atDesk(async ({ kernel, ...desk }) => {
    const result = await kernel.execute("await login()", typing(`"${desk.portalString}"\n`));
    assertEquals(masks(result), [true]);
    assertMatch(
      result.inputs[0]?.prompt ?? "",
      /Copy Token[^]*press Enter for user name and password/,
    );
    assertStringIncludes(kept(result), "Signed in as student");
    const source = await kernel.execute("status().source");
    assertStringIncludes(JSON.stringify(source.outputs), "portal");
    assertHides(kept(result), desk);
    assertEquals(desk.sandbox.requests.length, 0);
  });
});

Deno.test("in a notebook login() takes user name and password, the former openly", async () => {
  await atDesk(async ({ kernel, ...desk }) => {
    const answers = typing("", " ada ", desk.password);
    const result = await kernel.execute("await login()", answers);
    assertEquals(masks(result), [true, false, true]);
    assertMatch(
      result.inputs[2]?.prompt ?? "",
      /^Password of ada for 127\.0\.0\.1:\d+\n\(host set in the environment\):$/,
    );
    assertStringIncludes(kept(result), "Signed in as ada");
    assertHides(kept(result), desk);
    const again = await kernel.execute("await login()", typing());
    assertEquals([again.status, again.inputs], ["ok", []]);
    const wrong = await kernel.execute('await authFetch("/v1/stations", "POST")', typing());
    assertEquals([wrong.status, wrong.ename], ["error", "TypeError"], "cells are not type-checked");
  });
});

Deno.test("while a question is open a line says where and how to leave it, and then is gone", async () => {
  await atDesk(
    async ({ kernel, ...desk }) => {
      const left = ["", "ada", desk.password];
      const seen: string[] = [];
      const result = await kernel.execute("await login()", {
        onInput: async (prompt, _, outputs) => {
          assertEquals(prompt.split("\n").filter((line) => line.length > 60), []);
          while (!JSON.stringify(outputs).includes("Stop")) {
            await new Promise((resolve) => setTimeout(resolve, 10));
          }
          const [line] = outputs;
          if (line?.output_type !== "display_data") throw new Error(JSON.stringify(outputs));
          seen.push(String(line.data["text/plain"]));
          assertEquals(outputs.length, 1, "one line, however many questions");
          return left.shift() ?? "";
        },
      });
      const open = "A prompt is open below the cell (VS Code: top of window).\n" +
        "Stop, then Enter, cancels.";
      assertEquals(seen, [`Portal: https://portal.example/\n${open}`, open, open]);
      const [line, card] = result.outputs;
      assertEquals([line?.output_type, "data" in line! && line.data], ["display_data", {
        "text/plain": "",
        "text/html": "",
      }]);
      assertEquals([card?.output_type, result.outputs.length], ["execute_result", 2]);
      const empty = await kernel.execute(
        `await login({ strategy: "password", username: "ada" })`,
        typing(""),
      );
      assertStringIncludes(empty.traceback?.join("\n") ?? "", "\n→ run the cell again\n");
    },
    [],
    { PORTAL_URL: "https://portal.example/" },
  );
});

Deno.test("in a notebook login({ strategy }) asks for that way only", async () => {
  await atDesk(async ({ kernel, ...desk }) => {
    const portal = await kernel.execute(
      `await login({ strategy: "portal" })`,
      typing(desk.portalString),
    );
    assertEquals([portal.status, masks(portal)], ["ok", [true]]);
    const password = await kernel.execute(
      `await login({ strategy: "password" })`,
      typing("ada", desk.password),
    );
    assertEquals([password.status, masks(password)], ["ok", [false, true]]);
    assertHides(kept(portal) + kept(password), desk);
  });
});

Deno.test("in a notebook a rejected password may be typed once more, and no error repeats it", async () => {
  await atDesk(async ({ kernel, ...desk }) => {
    const wrong = crypto.randomUUID();
    const answers = typing("", "ada", wrong, desk.password);
    const second = await kernel.execute("await login()", answers);
    assertEquals([second.status, masks(second)], ["ok", [true, false, true, true]]);
    assertMatch(
      second.inputs[3]?.prompt ?? "",
      /^That password was rejected\.\nPassword of ada for/,
    );
    const force = "await login({ force: true })";
    const twice = await kernel.execute(force, typing("", "ada", wrong, wrong));
    assertEquals([twice.status, twice.ename], ["error", "ProviderError"]);
    assertEquals(desk.sandbox.requests.length, 4);
    const portal = await kernel.execute(force, typing(`bearer ${wrong}!`));
    assertEquals([portal.status, portal.ename], ["error", "ConfigError"]);
    assertHides([second, twice, portal].map(kept).join(), desk);
    assertEquals(repeatedPart([second, twice, portal].map(kept).join(), [wrong]), undefined);
  });
});

Deno.test("in a notebook an empty answer after the first question cancels and says what to do", async () => {
  await atDesk(async ({ kernel, sandbox }) => {
    const stories: [options: string, answers: string[]][] = [
      ["", ["", ""]],
      ["", ["", "ada", ""]],
      [`{ strategy: "portal" }`, [""]],
    ];
    for (const [options, answers] of stories) {
      const result = await kernel.execute(`await login(${options})`, typing(...answers));
      assertEquals([result.status, result.ename], ["error", "ConfigError"]);
      assertMatch(
        result.evalue ?? "",
        /^Cannot log in: nothing was entered, which cancels the login; run the cell again \(help: PROMPT_UNAVAILABLE in docs/,
      );
    }
    assertEquals(sandbox.requests.length, 0);
  });
});

Deno.test(
  needing(NO_SIGNALS, "Stop at any question ends the cell after its answer and sends no more"),
  async () => {
    await atDesk(async ({ kernel, ...desk }) => {
      const byPassword = ["", "ada", desk.password];
      const wrong = crypto.randomUUID();
      const stories: [cell: string, answers: string[], sent?: number][] = [
        ["await login()", byPassword.slice(0, 1)],
        ["await login()", byPassword.slice(0, 2)],
        ["await login()", byPassword],
        ["await login()", ["", "ada", wrong, desk.password], 1],
        ["await login()", [desk.portalString]],
        [`await login({ strategy: "portal" })`, [desk.portalString]],
        [`await login({ username: "ada", strategy: "password" })`, [desk.password]],
      ];
      for (const [cell, answers, sent = 0] of stories) {
        const before = desk.sandbox.requests.length;
        const typed = typing(...answers);
        let asked = 0;
        const result = await kernel.execute(cell, {
          onInput: () => {
            if (++asked === answers.length) {
              assertEquals(desk.sandbox.requests.length - before, sent, "before Stop");
              kernel.interrupt();
            }
            return typed.onInput();
          },
        });
        const what = `${cell} ${asked}`;
        assertEquals([result.status, result.ename], ["error", "AuthError"], what);
        assertMatch(
          result.evalue ?? "",
          /^Stopped login\(\): Stop was pressed, and nothing is sent after that; .*INTERRUPTED in docs/,
        );
        assertEquals([asked, result.inputs.length], [answers.length, answers.length], what);
        assertHides(kept(result), desk);
        assertEquals(repeatedPart(kept(result), [wrong]), undefined);
        const after = await kernel.execute("status().state");
        assertStringIncludes(JSON.stringify(after.outputs), "none");
        assertEquals(desk.sandbox.requests.length - before, sent, what);
      }
      const right = await kernel.execute("await login()", typing(...byPassword));
      assertEquals([right.status, desk.sandbox.requests.length], ["ok", 2]);
    });
  },
);

Deno.test("a front end that cannot ask gets one error that lists all that is missing", async () => {
  await atDesk(async ({ kernel, sandbox }) => {
    const code = (options: string) =>
      `await login(${options}).catch((error) => console.log(error.code, error.message))`;
    const auto = await kernel.execute(code(""));
    assertMatch(JSON.stringify(auto.outputs), /MISSING_SETTINGS .*APP_CLIENT_ID/);
    assertMatch(JSON.stringify(auto.outputs), /USER_POOL_ID.*USERNAME.*PASSWORD/);
    assertMatch(JSON.stringify(auto.outputs), /support/);
    const portal = await kernel.execute(code(`{ strategy: "portal" }`));
    assertMatch(JSON.stringify(portal.outputs), /PROMPT_UNAVAILABLE .*login\({ portalToken }\)/);
    const shown = await kernel.execute("await login()");
    assertEquals([shown.status, shown.ename], ["error", "ConfigError"]);
    assertEquals(sandbox.requests.length, 0);
  }, ["APP_CLIENT_ID", "USER_POOL_ID"]);
});

/** A script in a terminal, whose settings lack user name and password, and what is typed there. */
async function typed(
  desk: Desk,
  code: string,
  dialog: [awaited: string, typed: string][],
): Promise<Seen> {
  const script = `${desk.folder}/script.ts`;
  await Deno.writeTextFile(script, `${importing("login")}\n${code}`);
  const command = [Deno.execPath(), "run", "--quiet", "--no-lock", "-A", script];
  return await inTerminal(command, dialog, { cwd: desk.folder, env: desk.env });
}

function deskTest(name: string, fn: (desk: Desk) => Promise<void>): void {
  terminalTest(name, () => withDesk(fn));
}

const LOGIN = "console.log(await login());";
const FAILING = "await login().catch((error) => console.log(error.code, error.message));";
const FIRST = "press Enter for user name and password:";
const NAME = "User name:";
const PASSWORD = "(host set in the environment):";

deskTest("in a terminal login() takes a portal string and shows none of it", async (desk) => {
  const seen = await typed(desk, LOGIN, [[FIRST, `${desk.portalString}\r`]]);
  assertStringIncludes(seen.screen, "Signed in as student");
  assertHides(seen.screen, desk);
  assert(seen.sane);
});

deskTest("in a terminal login() takes a portal string of several lines", async (desk) => {
  const { portalString } = desk;
  const broken = portalString.replace(/.{60}/g, "$&\n");
  const pasted = `\x1b[200~${broken}\x1b[201~\r`;
  const seen = await typed(desk, LOGIN, [[FIRST, pasted]]);
  assertStringIncludes(seen.screen, "Signed in as student");
  assertHides(seen.screen, desk);
  assert(seen.sane);
});

deskTest(
  "in a terminal login() takes user name and password, which can be corrected",
  async (desk) => {
    const seen = await typed(desk, LOGIN, [
      [FIRST, "\r"],
      [NAME, "ada\r"],
      [PASSWORD, `${desk.password}é\x7f\r`],
    ]);
    assertStringIncludes(seen.screen, "Signed in as ada");
    assertHides(seen.screen, desk);
    assert(seen.sane);
  },
);

deskTest("an empty answer in a terminal ends the login and says what to do", async (desk) => {
  const seen = await typed(desk, FAILING, [[FIRST, "\r"], [NAME, "\r"]]);
  assertMatch(seen.screen, /PROMPT_UNAVAILABLE Cannot log in: nothing was entered/);
  assert(seen.sane);
});
