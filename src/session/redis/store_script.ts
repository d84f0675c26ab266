import { CHECK_SERVER, type Connection, Unreachable } from "./connection.ts";

/**
 * The entry of a session in the store. Later entries have higher numbers. The store issues a number
 * together with the lock. It takes the number from its clock, so that numbers increase even if the
 * store loses its data.
 */
export interface Kept {
  readonly number: number;
  /** A random id of the write. */
  readonly id: string;
  /** The encrypted tokens; empty after a logout, so that no process restores the session. */
  readonly data: string;
}

/** The latest entry that a process knows. */
export interface Known extends Kept {
  /**
   * The highest number that this entry may replace. A refresh must not replace entries that were
   * written after the refresh read the store.
   */
  readonly replacesUpTo: number;
}

export interface Request {
  /** The store adopts this entry if it is later than the stored one. */
  readonly known: Known;
  /** Lifetime of the entry, in milliseconds. */
  readonly keepMs: number;
  /** The process that requests or releases the lock. */
  readonly owner?: string;
  /** Time after which the lock expires, in milliseconds; `0` releases the lock. */
  readonly lockMs?: number;
}

export interface Answer {
  /** The latest entry, which may be the one in the request. */
  readonly kept: Kept;
  /** The next number. With the lock, this is the number of the holder's first write. */
  readonly number: number;
  readonly isHolder: boolean;
}

/**
 * Exchanges entries in one atomic step, which can safely be repeated. An entry with a lower number
 * than the stored one comes from a late writer and is ignored.
 *
 * A refresh also sends the highest number that it may replace, so that it does not replace entries
 * that were written after it read the store. A refusal of the refresh token is written with the
 * lowest possible number, so that valid tokens from a late holder of the lock replace it.
 *
 * A Redis key of another type belongs to another program. A request for the lock removes such a
 * key, because it would block all machines.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function removeForeign(reply, key)
  if type(reply) == 'table' and reply.err:find('WRONGTYPE') then redis.call('DEL', key) end
end
if ARGV[5] ~= '' then
  removeForeign(redis.pcall('HGET', KEYS[1], 'number'), KEYS[1])
  removeForeign(redis.pcall('GET', KEYS[2]), KEYS[2])
end
local function text(name) return redis.call('HGET', KEYS[1], name) or '' end
local function count(name) return tonumber(text(name)) or 0 end
local number, known = count('number'), tonumber(ARGV[1])
if known > number and number <= tonumber(ARGV[7]) then
  number = known
  redis.call('HSET', KEYS[1], 'number', ARGV[1], 'id', ARGV[2], 'data', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
local next = math.max(count('given') + 1000, number + 1000, now)
local owner, holder, held = ARGV[5], redis.call('GET', KEYS[2]), 0
if owner ~= '' and ARGV[6] == '0' then
  if holder == owner then redis.call('DEL', KEYS[2]) end
elseif owner ~= '' and (not holder or holder == owner) then
  redis.call('SET', KEYS[2], owner, 'PX', ARGV[6])
  redis.call('HSET', KEYS[1], 'given', string.format('%.0f', next))
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
  held = 1
end
return { string.format('%.0f', number), text('id'), text('data'), string.format('%.0f', next), held }`;

/**
 * Exchanges the latest entry with the store.
 * @throws {Unreachable}
 */
export async function exchange(
  connection: Connection,
  name: string,
  { known, keepMs, owner = "", lockMs = 0 }: Request,
  limitMs: number,
): Promise<Answer> {
  const { number: ours, replacesUpTo } = known;
  const words = [ours, known.id, known.data, keepMs, owner, lockMs, replacesUpTo].map(String);
  const reply = await connection.run(SCRIPT, [name, `${name}:lock`], words, limitMs);
  if (!Array.isArray(reply) || reply.length !== 5) {
    throw new Unreachable("the server at this address is not a Redis server", {
      fix: CHECK_SERVER,
    });
  }
  const [number, id, data, next, held] = reply;
  // Numbers that this module writes stay far below this limit.
  if (![number, next].every((each) => Number.isSafeInteger(Number(each)))) {
    throw new Unreachable("another program changed the entry of this session", {
      fix: `delete the key ${name} on the server, then log in again`,
      isPermanent: true,
    });
  }
  return {
    kept: { number: Number(number), id: `${id}`, data: `${data}` },
    number: Number(next),
    isHolder: held === 1,
  };
}
