import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { plot } from "../../src/notebook/mod.ts";
import { plotBundle } from "../../src/notebook/plot.ts";
import { inFolder, runScript } from "../support/child_deno.ts";

const MODULE = import.meta.resolve("../../src/notebook/mod.ts");

const ROWS = [
  { time: "2025-07-07T00:00:00Z", temperatureC: 12, station: "Gull Harbor" },
  { time: "2025-07-07T06:00:00Z", temperatureC: 14, station: "Gull Harbor" },
  { time: "2025-07-07T00:00:00Z", temperatureC: 2, station: "Snow <Pass>" },
  { time: "2025-07-07T06:00:00Z", temperatureC: 4, station: "Snow <Pass>" },
];

/** The picture of a plot, and the HTML around it. */
async function drawn(options: Parameters<typeof plotBundle>[0]) {
  const { "text/html": html, "text/plain": text } = await plotBundle(options);
  const [, data = ""] = /src="data:image\/svg\+xml;base64,([^"]+)"/.exec(String(html)) ?? [];
  const svg = new TextDecoder().decode(Uint8Array.fromBase64(data));
  assertMatch(svg, /^<svg [^]*<\/svg>$/);
  const texts = [...svg.matchAll(/<text[^>]*>([^<]+)<\/text>/g)].map(([, words]) => words);
  return { html: String(html).replace(data, ""), text, svg, texts };
}

Deno.test("plot() needs marks only: times that are text are times, and colors have a legend", async () => {
  const { svg, texts, text } = await drawn({
    marks: (Plot) => Plot.lineY(ROWS, { x: "time", y: "temperatureC", stroke: "station" }),
  });
  assert(texts.includes("1 AM"), "an hour that no row has is on the axis");
  assertEquals(texts.slice(-2), ["Gull Harbor", "Snow &lt;Pass&gt;"]);
  assertStringIncludes(svg, 'stroke="#4269d0"');
  assertMatch(svg, /<rect [^>]*fill="#4269d0"/);
  assertEquals(text, "A plot, shown where pictures are");
});

Deno.test("plot() writes title, legend and caption, and the caption where only text is", async () => {
  const { html, text, texts } = await drawn({
    title: "A <week>",
    caption: "mean 8 °C\nmost 14 °C",
    legend: { warm: "#b5442e" },
    marks: (Plot) => [Plot.dot(ROWS, { x: "time", y: "temperatureC", fill: "station" })],
  });
  assertEquals(texts.slice(-2), ["A &lt;week&gt;", "warm"]);
  assertEquals(
    html,
    '<figure style="margin:0"><img alt="A &lt;week&gt;" style="max-width:100%;min-width:420px" src="data:image/svg+xml;base64,">' +
      "<figcaption>mean 8 °C; most 14 °C</figcaption></figure>",
  );
  assertEquals(text, "A <week>\nmean 8 °C\nmost 14 °C");
});

Deno.test("a plot is not made too narrow to read, and a small one not larger", async () => {
  const least = async (width: number) => {
    const { html } = await drawn({ width, marks: (Plot) => Plot.dot(ROWS, { x: "time" }) });
    return /min-width:(\d+)px/.exec(html)?.[1];
  };
  assertEquals([await least(900), await least(200)], ["420", "200"]);
});

Deno.test("plot() makes room for a legend of many names, and for none if none is wanted", async () => {
  const rows = Array.from({ length: 20 }, (_, at) => ({ at, name: `a station, number ${at}` }));
  const height = async (legend?: false) => {
    const { svg, texts } = await drawn({
      height: 300,
      ...(legend === undefined ? {} : { legend }),
      marks: (Plot) => Plot.dot(rows, { x: "at", y: "at", fill: "name" }),
    });
    const lowest = Math.max(...[...svg.matchAll(/<rect x="([\d.]+)"/g)].map(([, x]) => Number(x)));
    assert(lowest < 720);
    assertEquals(texts.includes("a station, number 19"), legend === undefined);
    return Number(/ height="(\d+)"/.exec(svg)?.[1]);
  };
  assertEquals([await height(), await height(false)], [408, 300]);
});

Deno.test("plot() takes options and marks of Observable Plot as they are", async () => {
  const { svg, texts } = await drawn({
    width: 400,
    x: { label: "Day", type: "band" },
    color: { domain: ["b", "a"], range: ["#111111", "#222222"] },
    marks: (Plot) => Plot.barY([["a", 1], ["b", 2]], { x: "0", y: "1", fill: "0" }),
  });
  assertMatch(svg, /width="400"/);
  assert(texts.includes("Day"));
  assertEquals(texts.slice(-2), ["b", "a"]);
  assertMatch(svg, /<rect [^>]*fill="#111111"[^>]*>/);
});

Deno.test("a time without an offset is one in UTC, whatever the zone of the computer", () =>
  inFolder(async (cwd) => {
    const rows = [{ t: "2025-07-07 00:00", v: 1 }, { t: "2025-07-07 03:00", v: 2 }];
    const script = `
      import { plotBundle } from "${import.meta.resolve("../../src/notebook/plot.ts")}";
      const rows = ${JSON.stringify(rows)};
      const marks = (Plot) => Plot.lineY(rows, { x: "t", y: "v" });
      console.log((await plotBundle({ marks }))["text/html"]);`;
    const [here, there] = await Promise.all(["UTC", "Asia/Tokyo"].map(async (TZ) => {
      const { code, stdout, stderr } = await runScript(script, { cwd, env: { TZ }, flags: ["-A"] });
      assertEquals([code, stderr], [0, ""]);
      return stdout;
    }));
    assertEquals(here, there);
  }));

Deno.test("plot() without marks says what to write", async () => {
  for (const options of [undefined, {}, { title: "none" }]) {
    const error = await assertRejects(() => plot(options as never), TypeError);
    assertStringIncludes(error.message, "plot({ marks: (Plot) => Plot.");
  }
});

Deno.test("plot() with rows in place of marks says what to write, and draws conditional marks", async () => {
  for (const marks of [ROWS, () => ROWS, [{}], () => "dot"]) {
    const error = await assertRejects(() => plot({ marks } as never), TypeError);
    assertStringIncludes(error.message, "one of these is none, such as plot({ marks: (Plot) =>");
  }
  const bundle = await plotBundle({
    marks: (Plot) => [[Plot.lineY(ROWS, { x: "time", y: "temperatureC" })], null, undefined],
  });
  assertStringIncludes(bundle["text/html"] ?? "", "<img");
});

Deno.test("plot() says which of its words have a wrong type, and which rows are not there yet", async () => {
  const marks = () => [];
  for (
    const [options, message] of [
      [{ marks, title: 2025 }, 'plot() takes string as "title", not number'],
      [{ marks, caption: ["a", "b"] }, 'plot() takes string as "caption", not array of strings'],
      [{ marks, legend: true }, 'plot() takes object or false as "legend", not boolean'],
    ] as const
  ) {
    const error = await assertRejects(() => plot(options as never), TypeError);
    assertEquals(error.message, message);
  }
  const rows = Promise.resolve(ROWS) as never;
  const error = await assertRejects(() => plot({ marks: (Plot) => Plot.dot(rows) }), TypeError);
  assertStringIncludes(error.message, "those of one mark are a promise: await it first");
});

Deno.test("plot() draws a picture that is XML, whatever stands in rows, links and words", async () => {
  const hostile = 'a\x00b\x08c & <d> "e"';
  const { svg } = await drawn({
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
  const tag = `</?[a-zA-Z]+(?: [\\w:-]+="${text}")*\\s*/?>`;
  assertMatch(svg, new RegExp(`^(?:${tag}|${text.replace('"', "")})*$`), "it is no XML");
});

Deno.test("only plot() loads packages: show() and table() work where there is none", () =>
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
