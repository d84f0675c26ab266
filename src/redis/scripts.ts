/** A request to the server, as a Lua script, which the server runs in one step. */
export interface Script<Reply> {
  /**
   * `KEYS[1]` is the record, `KEYS[2]` is its lock. The value of the lock is a random id of its
   * holder.
   */
  readonly text: string;
  /** Whether the reply can come from this script. */
  isReply(reply: unknown): reply is Reply;
}

const isText = (reply: unknown): reply is string | null =>
  reply === null || typeof reply === "string";
const isFlag = (reply: unknown): reply is 0 | 1 => reply === 0 || reply === 1;

/** Returns the text of the record; `null` if there is none. */
export const READ: Script<string | null> = {
  text: `return redis.call('GET', KEYS[1])`,
  isReply: isText,
};

/**
 * Takes the lock for an id (`ARGV[1]`) and a time in milliseconds (`ARGV[2]`). Returns 0 if another
 * id holds the lock. Can be repeated if the reply was lost.
 */
export const LOCK: Script<0 | 1> = {
  text: `
if (redis.call('GET', KEYS[2]) or ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1`,
  isReply: isFlag,
};

/**
 * Stores a text (`ARGV[2]`) for a time in milliseconds (`ARGV[3]`). Returns 0, and stores nothing,
 * if the id (`ARGV[1]`) no longer holds the lock. Can be repeated if the reply was lost.
 */
export const WRITE: Script<0 | 1> = {
  text: `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`,
  isReply: isFlag,
};

/** Releases the lock. Returns 0 if the id (`ARGV[1]`) no longer holds it. */
export const RELEASE: Script<0 | 1> = {
  text: `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[2])`,
  isReply: isFlag,
};
