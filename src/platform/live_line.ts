import { inKernel } from "../errors/kernel.ts";
import { shortened } from "../errors/lines.ts";
import { isDumbTerminal, terminalColumns } from "./terminal.ts";

/** What people see while a call goes on: an output of the cell, or one line of the terminal. */
export interface LiveLine {
  /** Shows this in place of what was shown. Settles when it is on its way. */
  show(text: string): Promise<void>;
  /** Takes it out again. */
  remove(): Promise<void>;
}

/** A line under the cell of a notebook, or on the terminal; `undefined` where there is neither. */
export function liveLine(): LiveLine | undefined {
  if (inKernel()) return cellLine();
  return Deno.stderr.isTerminal() && !isDumbTerminal() ? terminalLine() : undefined;
}

/** One output, which is replaced in place, also in a notebook that was saved. */
export function cellLine(): LiveLine {
  const transient = { display_id: crypto.randomUUID() };
  let kind = "display_data";
  const put = async (data: Record<string, string>) => {
    const message = { data, metadata: {}, transient };
    const sent = kind;
    kind = "update_display_data";
    try {
      await Deno.jupyter.broadcast(sent, message);
    } catch {
      // A line that cannot be shown must not end what it tells of.
    }
  };
  return {
    show: (text) => put({ "text/plain": text }),
    // Classic Jupyter ignores an update without any form, and draws an empty line for an empty text.
    remove: () => put({ "text/plain": "", "text/html": "" }),
  };
}

function terminalLine(): LiveLine {
  const put = (text: string) => {
    // Of a line that is broken only the last piece could be taken out again.
    const line = shortened(text, terminalColumns() - 2);
    Deno.stderr.writeSync(new TextEncoder().encode(`\r\u001b[K${line}`));
    return Promise.resolve();
  };
  return { show: put, remove: () => put("") };
}
