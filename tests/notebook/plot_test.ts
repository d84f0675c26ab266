import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { plot } from "../../src/notebook/mod.ts";
import { plotBundle, type PlotOptions } from "../../src/notebook/plot.ts";
import { inFolder, runScript } from "../support/child_deno.ts";

const MODULE = import.meta.resolve("../../src/notebook/mod.ts");

const ROWS = [
  { time: "2025-07-07T00:00:00Z", temperatureC: 12, station: "Gull Harbor" },
  { time: "2025-07-07T06:00:00Z", temperatureC: 14, station: "Gull Harbor" },
  { time: "2025-07-07T00:00:00Z", temperatureC: 2, station: "Snow <Pass>" },
  { time: "2025-07-07T06:00:00Z", temperatureC: 4, station: "Snow <Pass>" },
];

/** The pictures of a plot, the last of which is the plot itself, and the HTML around them. */
async function drawn(options: Parameters<typeof plotBundle>[0]) {
  const { "text/html": markup, "text/plain": text } = await plotBundle(options);
  const pictures: string[] = [];
  const html = String(markup).replace(/data:image\/svg\+xml;base64,([^"]+)/g, (_, data) => {
    pictures.push(new TextDecoder().decode(Uint8Array.fromBase64(data)));
    return "";
  });
  const svg = pictures.at(-1) ?? "";
  for (const picture of pictures) assertMatch(picture, /^<svg [^]*<\/svg>$/);
  return { html, text, svg, pictures, texts: textsIn(svg) };
}

function textsIn(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]+)<\/text>/g)].map(([, words = ""]) => words);
}

/** The names of a legend, with their colors. */
function legendIn({ html, pictures }: { html: string; pictures: string[] }): string[][] {
  const names = [...html.matchAll(/<span[^>]*><img[^>]*>([^<]*)<\/span>/g)];
  return names.map((
    [, name = ""],
    at,
  ) => [name, / fill="([^"]+)"/.exec(pictures[at] ?? "")?.[1] ?? ""]);
}

const SCRIPTS = /<(?:script|style|link|svg)\b|\son\w+=/i;

Deno.test("plot() draws a column of date strings on a time axis, and adds a legend for colors", async () => {
  const shown = await drawn({
    marks: (Plot) => Plot.lineY(ROWS, { x: "time", y: "temperatureC", stroke: "station" }),
  });
  assert(shown.texts.includes("1 AM"), "an hour that no row has is on the axis");
  assertEquals(legendIn(shown), [["Gull Harbor", "#4269d0"], ["Snow &lt;Pass&gt;", "#efb118"]]);
  assertStringIncludes(shown.svg, 'stroke="#4269d0"');
  assertEquals(shown.text, "A plot (this output cannot show pictures)");
  assertEquals(shown.html.match(SCRIPTS), null, "an untrusted notebook would remove it");
});

Deno.test("plot() adds a color scale if the colors are numbers", async () => {
  const { pictures, html } = await drawn({
    color: { legend: true, scheme: "rainbow" },
    marks: (Plot) => Plot.dot(ROWS, { x: "time", y: "temperatureC", fill: "temperatureC" }),
  });
  assertEquals(pictures.length, 2);
  assertEquals(textsIn(pictures[0] ?? ""), ["5", "10", "temperatureC"]);
  assertMatch(html, /alt="color scale"/);
});

Deno.test("plot() shows title, legend and caption, both in HTML and as plain text", async () => {
  const shown = await drawn({
    title: "A <week>",
    caption: "mean 8 °C\nmost 14 °C",
    legend: { "warm & dry": "#b5442e" },
    marks: (Plot) => [Plot.dot(ROWS, { x: "time", y: "temperatureC", fill: "station" })],
  });
  assertEquals(legendIn(shown), [["warm &amp; dry", "#b5442e"]]);
  assertMatch(shown.html, /^<figure [^>]*style="margin:0"[^>]*><h2 [^>]*>A &lt;week&gt;<\/h2>/);
  assertMatch(shown.html, /<img [^>]*alt="A &lt;week&gt;"/);
  assertMatch(shown.html, /<figcaption>mean 8 °C; most 14 °C<\/figcaption><\/figure>$/);
  assertEquals(shown.text, "A <week>\nmean 8 °C\nmost 14 °C");
  const none = await drawn({
    legend: false,
    marks: (Plot) => Plot.dot(ROWS, { x: "time", fill: "station" }),
  });
  assertEquals(none.pictures.length, 1);
});

Deno.test("plot() treats date strings as dates, also in domains, intervals, bins and lists", async () => {
  const days = Array.from({ length: 4 }, (_, at) => ({ day: `2025-07-0${at + 1}`, v: 1 }));
  const domain = { x: { domain: ["2025-07-02", "2025-07-04"] } };
  const lists = days.map(({ day, v }) => [day, v]);
  const cases: [what: string, marks: PlotOptions["marks"], options?: Omit<PlotOptions, "marks">][] =
    [
      ["a domain", (Plot) => Plot.dot(days, { x: "day", y: "v" }), domain],
      ["an interval", (Plot) => Plot.rectY(days, { x: "day", y: "v", interval: "day" })],
      ["a bin", (Plot) => Plot.rectY(days, Plot.binX({ y: "count" }, { x: "day" }))],
      ["lists", (Plot) => Plot.dot(lists, { x: "0", y: "1" })],
    ];
  for (const [what, marks, options] of cases) {
    const { svg, texts } = await drawn({ ...options, marks });
    assert(texts.includes("12 PM"), `${what}: ${texts}`);
    const shapes = svg.match(/<(?:circle|rect) /g) ?? [];
    assert(shapes.length >= 2, `${what} draws ${shapes.length}`);
  }
});

Deno.test("plot() suggests a column name if no row has the given column", async () => {
  await assertRejects(
    () => plot({ marks: (Plot) => Plot.dot(ROWS, { x: "time", y: "temperaturC" }) }),
    TypeError,
    'plot() finds no column "temperaturC" (did you mean "temperatureC"?); the rows have time, temperatureC, station',
  );
});

Deno.test("plot() passes options and marks to Observable Plot", async () => {
  const shown = await drawn({
    width: 400,
    x: { label: "Day", type: "band" },
    color: { domain: ["b", "a"], range: ["#111111", "#222222"] },
    marks: (Plot) => Plot.barY([["a", 1], ["b", 2]], { x: "0", y: "1", fill: "0" }),
  });
  assertMatch(shown.svg, /width="400"/);
  assert(shown.texts.includes("Day"));
  assertEquals(legendIn(shown), [["b", "#111111"], ["a", "#222222"]]);
});

Deno.test("plot() reads a time without an offset as UTC", () =>
  inFolder(async (cwd) => {
    const script = `
      import { plotBundle } from "${import.meta.resolve("../../src/notebook/plot.ts")}";
      const drawn = async (...times) => {
        const rows = times.map((t, v) => ({ t, v }));
        return (await plotBundle({ marks: (Plot) => Plot.lineY(rows, { x: "t", y: "v" }) }))["text/html"];
      };
      const without = await drawn("2025-07-07 00:00", "2025-07-07 03:00");
      console.log(without === await drawn("2025-07-07T00:00Z", "2025-07-07T03:00Z"));`;
    const { stdout } = await runScript(script, { cwd, env: { TZ: "Asia/Tokyo" }, flags: ["-A"] });
    assertEquals(stdout, "true\n");
  }));

const marks = () => [];
const NO_MARKS = "plot({ marks: (Plot) => Plot.";
const NOT_MARKS = "; one of these is not a mark";

const REFUSED: [options: unknown, message: string][] = [
  [undefined, NO_MARKS],
  [{ title: "none" }, NO_MARKS],
  [{ marks: () => ROWS }, NOT_MARKS],
  [{ marks: () => "dot" }, NOT_MARKS],
  [{ marks, title: 2025 }, 'plot() takes string as "title", not number'],
  [{ marks, legend: "no" }, 'plot() takes object or boolean or false as "legend", not string'],
  [
    { marks: ((Plot) => Plot.dot(Promise.resolve(ROWS) as never)) satisfies PlotOptions["marks"] },
    "the rows of one mark are a promise: await it first",
  ],
];

Deno.test("plot() refuses wrong options and says what to write instead", async () => {
  for (const [options, message] of REFUSED) {
    await assertRejects(() => plot(options as never), TypeError, message);
  }
});

Deno.test("plot() produces valid XML from any data", async () => {
  const hostile = 'a\x00b\x08c & <d> "e"';
  const { svg, pictures, html } = await drawn({
    title: hostile,
    x: { label: hostile },
    marks: (Plot) =>
      Plot.dot([{ station: hostile, v: 1, page: "/v1/stations?from=1&to=2" }], {
        x: "v",
        y: "v",
        fill: "station",
        title: "station",
        href: "page",
        ariaLabel: "station",
      }),
  });
  assertStringIncludes(svg, '"/v1/stations?from=1&amp;to=2"');
  const text = String.raw`(?:[^<&"\0-\x08]|&(?:amp|lt|gt|quot|#\d+|#x[\da-f]+);)*`;
  const tag = `</?[a-zA-Z]+2?(?: [\\w:-]+="${text}")*\\s*/?>`;
  for (const markup of [...pictures, html]) {
    assertMatch(markup, new RegExp(`^(?:${tag}|${text.replace('"', "")})*$`), "it is not XML");
  }
});

Deno.test("show() and table() load no packages", () =>
  inFolder((cwd) =>
    inFolder(async (cache) => {
      const script = `
        import { plot, show, table } from "${MODULE}";
        await show("shown");
        await table([{ a: 1 }]);
        await plot({ marks: () => [] }).catch(({ code, message }) => console.log(code, message));`;
      const env = { DENO_DIR: cache, NPM_CONFIG_REGISTRY: "http://127.0.0.1:9/" };
      const { stdout, stderr } = await runScript(script, { cwd, env });
      assertEquals(stderr, "");
      assertMatch(
        stdout,
        /^shown\na\n-\n1\n1 row, 1 column\nPACKAGE_UNAVAILABLE Cannot draw a plot: .*deno cache npm:@obs/,
      );
    })
  ));
