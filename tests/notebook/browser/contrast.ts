/** Checks that a page is readable: compares the color of each text with its background. */
import { assert, assertEquals } from "@std/assert";
import type { Locator } from "playwright-core";

/** The least contrast of small text, and of marks such as a check sign (WCAG 1.4.3 and 1.4.11). */
const LEAST = { words: 4.5, marks: 3 };

interface Text {
  readonly text: string;
  readonly ratio: number;
  readonly isDark: boolean;
}

/** Asserts that each text in this place is readable, and that its background is dark or light. */
export async function assertReadable(place: Locator, ground: "dark" | "light"): Promise<void> {
  const texts: Text[] = await place.evaluate(LOOK);
  assert(texts.length > 0, "there is no text");
  const pale = texts.filter(({ text, ratio }) =>
    ratio < (/[\p{L}\p{N}]/u.test(text) ? LEAST.words : LEAST.marks)
  );
  assertEquals(pale, []);
  assertEquals(texts.filter(({ isDark }) => isDark !== (ground === "dark")), []);
}

/** Runs in the page: returns each text and its contrast to the first opaque background behind it. */
const LOOK = new Function(
  "place",
  `
  const colorOf = (text) => {
    const [red, green, blue, alpha = 1] = (text.match(/[\\d.]+/g) ?? []).map(Number);
    return { rgb: [red, green, blue], alpha };
  };
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const texts = [];
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim();
    if (text === "") continue;
    const ink = colorOf(getComputedStyle(node.parentElement).color);
    let opacity = ink.alpha, at = node.parentElement, ground;
    for (; at && !ground; at = at.parentElement) {
      const style = getComputedStyle(at), color = colorOf(style.backgroundColor);
      if (color.alpha === 1) ground = color.rgb;
      else opacity *= Number(style.opacity);
    }
    ground ??= [255, 255, 255];
    const seen = ink.rgb.map((part, each) => part * opacity + ground[each] * (1 - opacity));
    const [dark, light] = [luminance(seen), luminance(ground)].sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    texts.push({ text, ratio, isDark: luminance(ground) < 0.2 });
  }
  return texts;
`,
) as (place: unknown) => Text[];
