import type { Locator, Page } from "playwright-core";

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

  /** Waits for the card of a cell. */
  async card(index: number): Promise<Locator> {
    const place = this.cell(index).locator("[role=group]");
    await place.waitFor();
    return place;
  }
}
