import { assertEquals, assertThrows } from "@std/assert";
import { Wire } from "./wire.ts";

Deno.test("decode() reads back what encode() made, routing ids in front", () => {
  const wire = new Wire("key");
  const request = wire.encode("execute_request", { code: "1" });
  const { id, frames } = wire.encode("execute_reply", { status: "ok" }, { msg_id: request.id });
  const { type, parentId, header, content } = wire.decode([new Uint8Array(5), ...frames]);
  assertEquals([type, parentId, header.msg_id], ["execute_reply", request.id, id]);
  assertEquals(content, { status: "ok" });
});

Deno.test("decode() refuses a message signed with another key or without its parts", () => {
  const { frames } = new Wire("one").encode("status", { execution_state: "idle" });
  assertThrows(() => new Wire("two").decode(frames), Error, "signed with another key");
  assertThrows(() => new Wire("one").decode(frames.slice(0, 4)), Error, "without its parts");
});
