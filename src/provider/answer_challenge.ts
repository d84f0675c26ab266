import { type AskedChallenge, needsKey } from "./challenges.ts";
import { request, secretHash } from "./initiate_auth.ts";
import type { ProviderSettings } from "./protocol.ts";
import { type Delivery, send, type Waiters } from "./send.ts";
import { loginTokens, type TokenDelivery } from "./token_request.ts";
import type { World } from "../platform/world.ts";
import { Secret } from "../platform/secret.ts";

/** A shorter answer stands in harmless texts as well: it cannot be withheld from them. */
const SHORTEST_HIDDEN = 4;

/** What an answer to a challenge is sent with. */
export interface StepRequest {
  readonly provider: ProviderSettings;
  readonly world: World;
  readonly session: Secret | undefined;
  /** How long the provider may take. */
  readonly deadlineMs: number;
}

/** Asks for a key for an authenticator app. */
export function requestKey(step: StepRequest, waiters: Waiters): Promise<Delivery> {
  return sendStep(step, "AssociateSoftwareToken", {}, [], waiters);
}

/** Proves that the authenticator app has the key. */
export function requestVerification(
  step: StepRequest,
  code: string,
  waiters: Waiters,
): Promise<Delivery> {
  return sendStep(step, "VerifySoftwareToken", { UserCode: code }, [new Secret(code)], waiters);
}

/**
 * Answers a challenge.
 *
 * @param username The name by which the provider knows the user.
 * @param answers By the names in the challenge's asks; those of a verified key are left out.
 */
export async function requestAnswer(
  step: StepRequest,
  challenge: AskedChallenge,
  username: string,
  answers: Readonly<Record<string, string>>,
  waiters: Waiters,
): Promise<TokenDelivery> {
  const { provider, world } = step;
  const hash = await secretHash(provider, username);
  const fields = {
    ClientId: provider.clientId,
    ChallengeName: challenge.name,
    ChallengeResponses: {
      USERNAME: username,
      ...(hash && { SECRET_HASH: hash.reveal() }),
      ...(needsKey(challenge) ? {} : answers),
    },
  };
  const secrets = challenge.asks.filter(({ secret }) => secret)
    .map(({ name }) => answers[name] ?? "")
    .filter((answer) => answer.length >= SHORTEST_HIDDEN)
    .map((answer) => new Secret(answer));
  const hidden = [hash, ...secrets];
  const delivery = await sendStep(step, "RespondToAuthChallenge", fields, hidden, waiters);
  return await loginTokens(provider, delivery, world, waiters.signal);
}

function sendStep(
  { provider, world, session, deadlineMs }: StepRequest,
  operation: string,
  fields: Readonly<Record<string, unknown>>,
  secrets: readonly (Secret | undefined)[],
  waiters: Waiters,
): Promise<Delivery> {
  const body = { ...fields, ...(session && { Session: session.reveal() }) };
  const sent = request(provider, "challenge", operation, body, [session, ...secrets]);
  return send(sent, world, deadlineMs, waiters);
}
