import { checkChallenges } from "./challenges.ts";

/** A user to add to the sandbox. */
export interface NewUser {
  /** Login name, except with `aliasSignIn`. */
  username: string;
  /** Any non-empty string. */
  password: string;
  /** Login name if the sandbox has `aliasSignIn`. */
  email?: string;
  /** Phone number for codes, such as `+15555550100`. */
  phone?: string;
  /**
   * `"unconfirmed"` and `"reset-required"` users cannot log in. A `"new-password-required"` user
   * sets a password at the first login, like a user that an administrator created. Default
   * `"confirmed"`.
   */
  status?: UserStatus;
  /** The challenges of this user's logins. Default: the sandbox's option `challenge`. */
  challenge?: string | readonly string[];
}

/** State of a user in the pool. */
export type UserStatus =
  | "confirmed"
  | "unconfirmed"
  | "reset-required"
  | "new-password-required";

/** Optional attributes of a user. */
export type UserAttribute = "email" | "phone";

/** A user in the pool. */
export interface Account {
  /**
   * User name in the pool: the `username` claim of the tokens. For a refresh, SECRET_HASH is
   * computed from this name.
   */
  readonly username: string;
  readonly sub: string;
  readonly email: string | undefined;
  readonly phone: string | undefined;
  readonly status: UserStatus;
  /** The challenges after the password, in order. */
  readonly challenges: readonly string[];
}

/** Result of checking a name and a password. */
export type PasswordCheck =
  | { outcome: "ok"; account: Account }
  | { outcome: "wrong" }
  | { outcome: "locked"; seconds: number };

interface Entry {
  account: { -readonly [Name in keyof Account]: Account[Name] };
  password: string;
  failures: number;
  lockedUntil: number;
}

const LONGEST_LOCK_SECONDS = 900;

/** Rules of the pool. */
export interface AccountOptions {
  readonly aliasSignIn: boolean;
  readonly lockoutAfter: number;
  readonly challenge: readonly string[];
  readonly now: () => number;
}

/** The rules for a new password, each with the provider's message for a password that breaks it. */
const PASSWORD_POLICY: readonly (readonly [RegExp, string])[] = [
  [/^.{8,256}$/s, "Password not long enough"],
  [/[A-Z]/, "Password must have uppercase characters"],
  [/[a-z]/, "Password must have lowercase characters"],
  [/[0-9]/, "Password must have numeric characters"],
  [/[^A-Za-z0-9]/, "Password must have symbol characters"],
];

/** The users of the pool, their passwords and their lockout. */
export class Accounts {
  #byLoginName = new Map<string, Entry>();
  #options: AccountOptions;

  constructor(options: AccountOptions) {
    this.#options = options;
  }

  /**
   * Adds a user. With `aliasSignIn`, the user name in the pool is a UUID.
   *
   * @throws {TypeError} If a field is missing or the name is taken.
   */
  add(user: NewUser): Account {
    for (const name of ["username", "password"] as const) {
      if (typeof user[name] !== "string" || user[name] === "") {
        throw new TypeError(`Cannot add the user: "${name}" must be a non-empty string`);
      }
    }
    const alias = this.#options.aliasSignIn;
    if (alias && !user.email?.includes("@")) {
      throw new TypeError(
        'Cannot add the user: with "aliasSignIn", users log in by e-mail; add an "email"',
      );
    }
    const sub = crypto.randomUUID();
    const account: Account = {
      username: alias ? sub : user.username,
      sub,
      email: user.email,
      phone: user.phone,
      status: user.status ?? "confirmed",
      challenges: challengesOf(user, this.#options.challenge),
    };
    const loginNames = alias ? [sub, user.email ?? sub] : [user.username];
    const taken = loginNames.find((name) => this.#byLoginName.has(name));
    if (taken !== undefined) {
      throw new TypeError(`Cannot add the user: the name "${taken}" is taken; choose another one`);
    }
    const entry = { account, password: user.password, failures: 0, lockedUntil: 0 };
    for (const name of loginNames) this.#byLoginName.set(name, entry);
    return account;
  }

  /**
   * Finds a user by any name that a login accepts, including the user name in the pool.
   *
   * @throws {TypeError} If there is no such user.
   */
  find(name: string): Account {
    return this.#entry(name).account;
  }

  /**
   * Sets the password that the user chose. Later logins do not ask for a new password.
   *
   * @returns Why the password is refused: the message of the policy, or `"used"`.
   */
  setPassword({ username }: Account, password: string): string | undefined {
    const entry = this.#entry(username);
    const broken = PASSWORD_POLICY.find(([rule]) => !rule.test(password));
    if (broken !== undefined) return broken[1];
    if (password === entry.password) return "used";
    entry.password = password;
    entry.account.challenges = entry.account.challenges.filter((name) =>
      name !== "NEW_PASSWORD_REQUIRED"
    );
    if (entry.account.status === "new-password-required") entry.account.status = "confirmed";
    return undefined;
  }

  /** Sets an attribute that had no value. */
  setAttribute({ username }: Account, name: UserAttribute, value: string): void {
    this.#entry(username).account[name] = value;
  }

  #entry(name: string): Entry {
    const entry = this.#byLoginName.get(name);
    if (entry !== undefined) return entry;
    throw new TypeError(`Cannot find the user "${name}": add it first with addUser()`);
  }

  /** Checks a password and counts failures. While a user is locked, no password is checked. */
  checkPassword(loginName: string, password: string): PasswordCheck {
    const entry = this.#byLoginName.get(loginName);
    if (entry === undefined) return { outcome: "wrong" };
    const now = this.#options.now();
    if (now < entry.lockedUntil) {
      return { outcome: "locked", seconds: Math.ceil((entry.lockedUntil - now) / 1000) };
    }
    if (entry.password === password) {
      entry.failures = 0;
      return { outcome: "ok", account: entry.account };
    }
    entry.failures++;
    const limit = this.#options.lockoutAfter;
    if (entry.failures >= limit) {
      const seconds = Math.min(2 ** (entry.failures - limit), LONGEST_LOCK_SECONDS);
      entry.lockedUntil = now + seconds * 1000;
    }
    return { outcome: "wrong" };
  }
}

/** @throws {TypeError} If a challenge sends a code but the user has no address or number for it. */
function challengesOf(user: NewUser, byDefault: readonly string[]): readonly string[] {
  const own = user.challenge === undefined
    ? byDefault
    : checkChallenges(user.challenge, 'Cannot add the user: "challenge"');
  for (const [name, field] of [["EMAIL", "email"], ["SMS", "phone"]] as const) {
    const step = own.find((each) => each.startsWith(`${name}_`));
    if (step !== undefined && user[field] === undefined) {
      throw new TypeError(`Cannot add the user: ${step} sends a code, so add "${field}"`);
    }
  }
  const first = "NEW_PASSWORD_REQUIRED";
  return user.status !== "new-password-required" || own.includes(first) ? own : [first, ...own];
}
