import { CHECK_SERVER, type Connection, Unreachable } from "./connection.ts";

/**
 * What is kept of a session. Of two the one with the higher number counts: numbers are given with the
 * lock, and grow with the time of the store, also if it lost its data.
 */
export interface Kept {
  readonly number: number;
  /** By chance, for each write. */
  readonly id: string;
  /** Sealed tokens; empty: signed out. That is kept, so that nobody brings the session back. */
  readonly data: string;
}

/** What a process knows as the latest. */
export interface Known extends Kept {
  /**
   * The highest number that it may take the place of. A refresh leaves what others wrote since it
   * looked.
   */
  readonly replacesUpTo: number;
}

/** What is asked of the store. */
export interface Request {
  /** The store takes it over if it is later than its own. */
  readonly known: Known;
  /** How long that is to be kept. */
  readonly keepMs: number;
  /** Who asks for the lock, or gives it back. */
  readonly owner?: string;
  /** How long the lock is to be held if its holder is never heard of again; `0`: it is given back. */
  readonly lockMs?: number;
}

/** What the store says. */
export interface Answer {
  /** The latest, which may be what this process brought. */
  readonly kept: Kept;
  /** The next number: the lock's, if it was given. */
  readonly number: number;
  readonly isHolder: boolean;
  /** When the lock of another holder ends. */
  readonly freeInMs: number;
}

/**
 * One step in the store, which nothing can come between. A number that is lower than the one of what
 * is kept is that of a late writer, and changes nothing. Asking twice is the same as asking once.
 *
 * A refresh brings the number that it may take the place of, too: what others wrote since it looked stays.
 * A refusal of the refresh token is written under the lowest number there is, so that it gives way to a
 * holder of the lock that was late, and whose tokens are good.
 *
 * What no client of ours writes counts for nothing, or it would stop all clients for good: a number that
 * is none, or is ten years ahead of the store's clock, and a lock without an end, or that ends in more
 * than an hour. An entry of such a number is taken out.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function count(text)
  local number = tonumber(text)
  local isCount = number and number >= 0 and number % 1 == 0 and number < now + 315360000000000
  return isCount and number or nil
end
local function text(name) return redis.call('HGET', KEYS[1], name) or '' end
local number, brought = count(redis.call('HGET', KEYS[1], 'number') or 0), count(ARGV[1]) or 0
if not number then
  redis.call('DEL', KEYS[1])
  number = 0
end
if brought > number and number <= (tonumber(ARGV[7]) or 0) then
  number = brought
  redis.call('HSET', KEYS[1], 'number', ARGV[1], 'id', ARGV[2], 'data', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
local next = math.max((count(text('given')) or 0) + 1000, number + 1000, now)
local owner, holder, held = ARGV[5], redis.call('GET', KEYS[2]), 0
local endsIn = redis.call('PTTL', KEYS[2])
if endsIn < 0 or endsIn > 3600000 then holder = false end
if owner ~= '' and ARGV[6] == '0' then
  if holder == owner then redis.call('DEL', KEYS[2]) redis.call('PUBLISH', KEYS[3], 'free') end
elseif owner ~= '' and (not holder or holder == owner) then
  redis.call('SET', KEYS[2], owner, 'PX', ARGV[6])
  redis.call('HSET', KEYS[1], 'given', string.format('%.0f', next))
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
  held = 1
end
return { string.format('%.0f', number), text('id'), text('data'), string.format('%.0f', next), held,
  redis.call('PTTL', KEYS[2]) }`;

/** The channel on which it is said that the lock is free. */
export function channelOf(name: string): string {
  return `${name}:free`;
}

/** Tells the store what is known here, and learns what is known there. @throws {Unreachable} */
export async function exchange(
  connection: Connection,
  name: string,
  { known, keepMs, owner = "", lockMs = 0 }: Request,
  limitMs: number,
): Promise<Answer> {
  const { number: brought, replacesUpTo } = known;
  const words = [brought, known.id, known.data, keepMs, owner, lockMs, replacesUpTo].map(String);
  const keys = [name, `${name}:lock`, channelOf(name)];
  const answer = await connection.run(SCRIPT, keys, words, limitMs);
  const [number, id, data, next, held, freeIn] = Array.isArray(answer) ? answer : [];
  if (![number, next, held, freeIn].every((each) => Number.isSafeInteger(Number(each)))) {
    throw new Unreachable("what answers there is no Redis server", { fix: CHECK_SERVER });
  }
  return {
    kept: { number: Number(number), id: `${id}`, data: `${data}` },
    number: Number(next),
    isHolder: held === 1,
    freeInMs: Math.max(0, Number(freeIn)),
  };
}
