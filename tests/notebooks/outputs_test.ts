import { assertEquals } from "@std/assert";
import { OutputCollector } from "./outputs.ts";
import type { JsonRecord, Message } from "../kernel/wire.ts";

function message(type: string, content: JsonRecord, parentId = "cell"): Message {
  return { type, parentId, header: {}, content };
}

const print = (text: string, parentId?: string): Message =>
  message("stream", { name: "stdout", text }, parentId);

Deno.test("accept() keeps an error last when what was printed before it comes later", () => {
  const collector = new OutputCollector();
  const outputs = collector.open("cell");
  collector.accept(print("one\n"));
  collector.accept(message("error", { ename: "TypeError", evalue: "bad", traceback: ["at 1"] }));
  collector.accept(print("two\n"));
  assertEquals(outputs, [
    { output_type: "stream", name: "stdout", text: "one\ntwo\n" },
    { output_type: "error", ename: "TypeError", evalue: "bad", traceback: ["at 1"] },
  ]);
});

Deno.test("accept() gives a late output to the cell that caused it", () => {
  const collector = new OutputCollector();
  const first = collector.open("first");
  const second = collector.open("second");
  collector.accept(print("late", "first"));
  collector.accept(print("nobody's", "another client"));
  assertEquals(first, [{ output_type: "stream", name: "stdout", text: "late" }]);
  assertEquals(second, []);
});

Deno.test("accept() empties a cell that clears its output", () => {
  const collector = new OutputCollector();
  const outputs = collector.open("cell");
  collector.accept(print("1 of 2\n"));
  collector.accept(message("clear_output", { wait: false }));
  collector.accept(print("2 of 2\n"));
  assertEquals(outputs, [{ output_type: "stream", name: "stdout", text: "2 of 2\n" }]);
});
