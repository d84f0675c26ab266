import type { Locator, Page } from "playwright-core";
import { NotebookPage } from "./notebook_page.ts";

/** A notebook that is open in classic Jupyter. */
export class ClassicPage extends NotebookPage {
  protected override readonly prompt = ".input_prompt";
  protected override readonly box = "input.raw_input";

  static async open(page: Page, url: string): Promise<ClassicPage> {
    await page.goto(url);
    await page.locator("#kernel_indicator_icon.kernel_idle_icon").waitFor({ timeout: 120_000 });
    return new ClassicPage(page);
  }

  override cell(index: number): Locator {
    return this.page.locator(".code_cell").nth(index);
  }

  override async start(index: number): Promise<void> {
    await this.page.evaluate(`Jupyter.notebook.execute_cells([${index}])`);
  }
}
