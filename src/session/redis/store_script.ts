import { type Connection, notRedis } from "./connection.ts";
import { REFRESH_DAYS } from "../../provider/tokens.ts";

/** The record of a session in the store. The record with the highest number is the latest. */
export interface Kept {
  /** `0` if the store contains no record of this module. */
  readonly number: number;
  /** The encrypted tokens; empty after a logout, so that no process restores the session. */
  readonly data: string;
}

export const NOTHING_KEPT: Kept = { number: 0, data: "" };

/** The part of a request that takes or releases the lock. */
export interface LockRequest {
  /** A random id of the update that takes the lock. */
  readonly owner: string;
  /** Time after which the lock expires, in milliseconds; `0` releases the lock. */
  readonly lockMs: number;
}

export interface Answer {
  /** The latest record, which may be the one in the request. */
  readonly kept: Kept;
  /** The server's time, milliseconds since 1970. */
  readonly now: number;
  readonly isHeld: boolean;
}

/** Lifetime of a record after it was last written. A refresh token lives about as long. */
const KEEP_MS = REFRESH_DAYS * 86_400_000;

/**
 * In one atomic step, stores the record if it is later than the stored record, takes or releases
 * the lock, and returns the latest record. The step can safely be repeated, because the lock is
 * granted again to the same owner. Stored text that this module cannot have written is replaced,
 * such as a number that is 95 years ahead of the server's time: no later number would be accepted.
 */
const SCRIPT = `
local stored = redis.call('GET', KEYS[1]) or ''
local number, data = stored:match('^([%d.]+) (.*)$')
number = tonumber(number)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if not number or number > now + 3e12 then number, data = 0, stored end
if tonumber(ARGV[1]) > number then
  number, data = tonumber(ARGV[1]), ARGV[2]
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. data, 'PX', ARGV[3])
end
local owner, held = ARGV[4], 0
local holder = owner ~= '' and redis.call('GET', KEYS[2])
if ARGV[5] ~= '0' and (holder or owner) == owner then
  redis.call('SET', KEYS[2], owner, 'PX', ARGV[5])
  held = 1
elseif holder == owner then
  redis.call('DEL', KEYS[2])
end
return { string.format('%.1f', number), data, now, held }`;

/**
 * Exchanges the latest record with the store.
 * @throws {Unreachable} If the store cannot be reached or refuses the request.
 */
export async function exchange(
  connection: Connection,
  name: string,
  { number, data }: Kept,
  { owner, lockMs }: LockRequest,
  limitMs: number,
): Promise<Answer> {
  const words = [number, data, KEEP_MS, owner, lockMs].map(String);
  const reply = await connection.run(SCRIPT, [name, `${name}:lock`], words, limitMs);
  const [latest, content, now, held] = Array.isArray(reply) ? reply : [];
  const isText = typeof latest === "string" && typeof content === "string";
  if (!isText || !Number.isFinite(Number(latest)) || typeof now !== "number") throw notRedis();
  return { kept: { number: Number(latest), data: content }, now, isHeld: held === 1 };
}
