/**
 * A small toolkit for notebooks. It shows values, rows and plots under the cell that creates them,
 * and needs no session.
 *
 * ```ts ignore
 * import { plot, show, table } from "@platform-auth/platform-auth/notebook";
 *
 * const rows = [{ day: "Mon", rain: 1.5 }, { day: "Tue", rain: 0 }];
 * await show(rows.length);
 * await table(rows);
 * await plot({ marks: (Plot) => Plot.barY(rows, { x: "day", y: "rain" }) });
 * ```
 *
 * Outside a notebook, the same calls print text, so that the code of a notebook can become a
 * script. This folder imports only from `platform/` and `errors/`.
 *
 * @module
 */
export { plot, type PlotOptions } from "./plot.ts";
export { show } from "./show.ts";
export { type ColumnOf, table, type TableOptions } from "./table.ts";
