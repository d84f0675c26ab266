import type { Account } from "../../accounts.ts";
import { addRecord } from "../../records.ts";

/** A code that the provider sent by mail or phone. */
export interface SentCode {
  /** The user name in the pool. */
  username: string;
  /** Mail or phone. */
  medium: "EMAIL" | "SMS";
  /** The complete address or number. The provider's response shows only a part of it. */
  destination: string;
  /** A code by mail has 8 digits, a code by phone has 6. */
  code: string;
  /** When the code was sent, by the clock of the sandbox. */
  at: Date;
}

/** Number of digits in a code. As in real pools, codes sent by mail are longer. */
const DIGITS = { EMAIL: 8, SMS: 6 };

/** All codes sent by mail and phone. */
export class SentCodes {
  readonly list: SentCode[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sends a code that this user has not received before. */
  send({ username, email, phone }: Account, medium: SentCode["medium"]): SentCode {
    const destination = (medium === "EMAIL" ? email : phone) ?? "";
    let code: string;
    do code = randomDigits(DIGITS[medium]); while (this.includes(username, code));
    const sent = { username, medium, destination, code, at: new Date(this.#now()) };
    addRecord(this.list, sent);
    return sent;
  }

  includes(username: string, code: string): boolean {
    return this.list.some((sent) => sent.username === username && sent.code === code);
  }
}

/** The destination of a code, as the provider's response shows it. */
export function maskedDestination({ medium, destination }: SentCode): string {
  if (medium === "SMS") return `+*******${destination.slice(-4)}`;
  const [name = "", host = ""] = destination.split("@");
  return `${name.slice(0, 1)}***@${host.slice(0, 1)}***`;
}

function randomDigits(count: number): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return String(random % 10 ** count).padStart(count, "0");
}
