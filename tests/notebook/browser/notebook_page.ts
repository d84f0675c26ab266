/** A notebook that is open in a front end, and the account that its tests sign in with. */
import { assert, assertEquals } from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { code, notebookOf } from "../kernel/notebook_builders.ts";
import { writeNotebook } from "../kernel/notebook.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { type JupyterHome, jupyterHome } from "../../support/jupyter.ts";
import { linesOf } from "../../support/portless.ts";
import { importing, settingsEnvironment } from "../../support/sandbox_env.ts";

/** The folder in which the tests save pictures; `undefined`: they save none. */
export const SCREENSHOTS = Deno.env.get("SCREENSHOTS");

const GREEN = "rgb(31, 157, 99)";
const AMBER = "rgb(201, 133, 0)";
const RED = "rgb(214, 69, 69)";
const GRAY = "rgb(125, 133, 144)";

/** An open notebook. Indexes count its code cells from 0. */
export abstract class NotebookPage {
  constructor(readonly page: Page) {}

  abstract cell(index: number): Locator;

  /** Starts a cell and does not wait for its end. */
  abstract start(index: number): Promise<void>;

  /** The CSS selector of a cell's number. */
  protected abstract readonly prompt: string;

  /** The CSS selector of a prompt's input box. */
  protected abstract readonly box: string;

  /** Waits for the end of the cell, when its number appears. */
  async ended(index: number): Promise<void> {
    await this.cell(index).locator(this.prompt, { hasText: /\[\d+\]/ }).waitFor();
  }

  async run(index: number): Promise<void> {
    await this.start(index);
    await this.ended(index);
  }

  /** Waits for the input box of the cell's prompt. */
  async asked(index: number, type: "text" | "password"): Promise<Locator> {
    const masked = "[type=password]";
    const box = this.cell(index)
      .locator(`${this.box}${type === "password" ? masked : `:not(${masked})`}`);
    await box.waitFor();
    return box;
  }

  /** Answers the cell's prompt, whose box must have this type. */
  async answer(index: number, type: "text" | "password", value: string): Promise<void> {
    const box = await this.asked(index, type);
    // The box of the next prompt may have the same type, so this waits for this box to go.
    const asked = await box.elementHandle();
    await box.fill(value);
    await box.press("Enter");
    await asked?.waitForElementState("hidden");
  }

  /** Waits for the card of a cell; returns its text and the color of its edge. */
  async card(index: number): Promise<{ place: Locator; text: string; color: string }> {
    const place = this.cell(index).locator("[role=group]");
    await place.waitFor();
    const edge = new Function("card", "return getComputedStyle(card).borderLeftColor");
    const color: string = await place.evaluate(edge as (card: unknown) => string);
    return { place, color, text: (await place.innerText()).replace(/\s+/g, " ") };
  }
}

/** A notebook in a home folder of Jupyter, and a sandbox with the user Ada. */
export interface SignInWorld extends AsyncDisposable {
  readonly home: JupyterHome;
  readonly path: string;
  readonly sandbox: Sandbox;
  readonly user: { readonly username: string; readonly password: string };
  /** Valid for less than five minutes. */
  readonly portalString: string;
  /** Settings without an account, so that `login()` prompts. */
  readonly variables: Record<string, string>;
  /** Asserts that the saved notebook contains no secret. */
  assertNoSecret(): Promise<void>;
}

export async function signInWorld(name: string, cells: readonly string[]): Promise<SignInWorld> {
  await using disposables = new AsyncDisposableStack();
  const clientSecret = crypto.randomUUID();
  const sandbox = disposables.use(await startSandbox({ accessTokenSeconds: 240, clientSecret }));
  const user = { username: "ada", password: crypto.randomUUID() };
  sandbox.addUser(user);
  const portalString = await sandbox.portalToken();
  const home = disposables.use(await jupyterHome());
  const path = `${home.folder}/${name}`;
  await writeNotebook(path, notebookOf(...cells.map((cell) => code(cell))));
  const owned = disposables.move();
  return {
    home,
    path,
    sandbox,
    user,
    portalString,
    variables: settingsEnvironment(sandbox.settings, "USERNAME", "PASSWORD"),
    async assertNoSecret() {
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${home.folder}/.env`);
      assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
      const token = portalString.replace("bearer ", "");
      const secrets = [token, user.password, clientSecret, ACCESS_TOKEN, REFRESH_TOKEN];
      const file = await Deno.readTextFile(path);
      assert(file.includes(user.username));
      assertEquals(repeatedPart(file, secrets), undefined);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The cells that `walkThrough()` runs. */
export const SESSION_CELLS: readonly string[] = [
  `${importing("authFetch, configure, doctor, download, login, status")}
let ahead = 0;
configure({ now: () => Date.now() + ahead });
status()`,
  "await login()",
  "ahead = 600_000;\nstatus()",
  `ahead = 0;\nawait login({ strategy: "password" })`,
  "await doctor()",
];

/** Runs the cells of a session as a person does, and calls `check` after each. */
export async function walkThrough(
  notebook: NotebookPage,
  { portalString, user }: SignInWorld,
  check: (index: number, name: string, words: RegExp, color?: string) => Promise<void>,
): Promise<void> {
  await notebook.run(0);
  await check(0, "none", /Not signed in .*run login\(\)/, GRAY);
  await notebook.start(1);
  await notebook.answer(1, "password", portalString);
  await notebook.ended(1);
  await check(1, "amber", /Signed in as student .*copy a new portal string/, AMBER);
  await notebook.run(2);
  await check(2, "red", /Session ended .*copy a new portal string/, RED);
  await notebook.start(3);
  await notebook.answer(3, "text", user.username);
  await notebook.answer(3, "password", user.password);
  await notebook.ended(3);
  await check(3, "good", /Signed in as ada .*refreshed automatically/, GREEN);
  const bar = await notebook.cell(3).locator("[role=group] svg").boundingBox();
  assertEquals(bar?.height, 6, "the bar has its style");
  await notebook.run(4);
  await check(4, "doctor", /settings/);
}
