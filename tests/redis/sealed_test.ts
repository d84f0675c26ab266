import { assertEquals } from "@std/assert";
import { sealed, type SessionRecord, type SessionStore } from "../../src/redis/mod.ts";
import { newStoreKey } from "../support/store_key.ts";
import { Table } from "../support/table.ts";
import { patient } from "./in_redis.ts";

const TOKENS = { ACCESS_TOKEN: "an-access-token", REFRESH_TOKEN: "é\n漢" };

async function save(store: SessionStore, record: SessionRecord): Promise<void> {
  await using lock = await store.lock(patient());
  await lock.write(record, patient());
}

Deno.test("a sealed store contains no token in plain text, and the same key decrypts its record", async () => {
  // The encoded bytes contain all characters in which the two base64 alphabets differ.
  const bytes = Uint8Array.from({ length: 32 }, (_, at) => at % 3 === 0 ? 0xfb : 0xff);
  const key = bytes.toBase64();
  const same = bytes.toBase64({ alphabet: "base64url", omitPadding: true });
  const plain = new Table();
  assertEquals(await sealed(plain, key).read(patient()), undefined);
  await save(sealed(plain, key), TOKENS);
  assertEquals(Object.keys(plain.record ?? {}), ["SEALED"]);
  for (const part of ["access-token", btoa("access-token").slice(0, 12), "REFRESH_TOKEN"]) {
    assertEquals(JSON.stringify(plain.record).includes(part), false);
  }
  assertEquals(await sealed(plain, same).read(patient()), TOKENS);
  const first = plain.record;
  await save(sealed(plain, same), TOKENS);
  assertEquals(first?.SEALED === plain.record?.SEALED, false, "no text is encrypted twice alike");
});

Deno.test("a record that was not encrypted with the key has no tokens, and can be replaced", async () => {
  const key = newStoreKey();
  const plain = new Table();
  await save(sealed(plain, newStoreKey()), TOKENS);
  const { SEALED = "" } = plain.record ?? {};
  await save(sealed(plain, key, "another name"), TOKENS);
  const ofAnother = plain.record?.SEALED ?? "";
  await save(sealed(plain, key), TOKENS);
  const own = plain.record?.SEALED ?? "";
  const altered = own.replace(/.$/, (last) => last === "A" ? "Q" : "A");
  const records: SessionRecord[] = [
    ...[SEALED, ofAnother, altered, own.slice(0, -4), "%"].map((text) => ({ SEALED: text })),
    TOKENS,
  ];
  for (const record of records) {
    plain.record = record;
    const found = await sealed(plain, key).read(patient()) ?? {};
    assertEquals(found, { SEALED: record.SEALED ?? "" });
  }
  await save(sealed(plain, key), TOKENS);
  assertEquals(await sealed(plain, key).read(patient()), TOKENS);
});
