import { APP_CODE, type ChallengeAsk, needsKey } from "./challenges.ts";
import { request, secretHash } from "./requests.ts";
import type { Provider } from "./provider.ts";
import { send, type SendResult } from "./send.ts";
import { loginTokens, type TokenResult } from "./token_request.ts";
import type { World } from "../platform/world.ts";
import { Secret } from "../platform/secret.ts";

/** The parts that each request of a further step needs. */
export interface StepRequest {
  readonly provider: Provider;
  readonly world: World;
  /** The newest `Session` of this login. */
  readonly session: Secret | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Requests the key for a new authenticator app. The app needs the key to make the first code. */
export async function requestKey(
  step: StepRequest,
): Promise<SendResult & { readonly key: Secret | undefined }> {
  const result = await sendStep(step, "AssociateSoftwareToken", {});
  const { outcome } = result;
  const code = outcome.kind === "done" ? outcome.fields.SecretCode : undefined;
  return { ...result, key: typeof code === "string" ? new Secret(code) : undefined };
}

/**
 * Answers a challenge. The code of a new authenticator app is verified first; the answer then
 * contains the verified session instead of the code.
 *
 * @param username The name by which the provider knows the user.
 * @param answers The answers, keyed by the names in the challenge's `asks`.
 */
export async function requestAnswer(
  step: StepRequest,
  challenge: { readonly name: string; readonly asks: readonly ChallengeAsk[] },
  username: string,
  answers: Readonly<Record<string, string>>,
): Promise<TokenResult> {
  const { provider, world, signal } = step;
  let { session } = step;
  let responses = answers;
  const secrets = challenge.asks.filter(({ secret }) => secret)
    .map(({ name }) => new Secret(answers[name] ?? ""));
  if (needsKey(challenge)) {
    const code = { UserCode: answers[APP_CODE] };
    const verified = await sendStep(step, "VerifySoftwareToken", code, secrets);
    const { outcome } = verified;
    if (outcome.kind !== "done") return { ...verified, tokens: undefined };
    session = outcome.session ?? session;
    responses = {};
  }
  const hash = await secretHash(provider, username);
  const fields = {
    ClientId: provider.clientId,
    ChallengeName: challenge.name,
    ChallengeResponses: {
      USERNAME: username,
      ...(hash && { SECRET_HASH: hash.reveal() }),
      ...responses,
    },
  };
  const operation = "RespondToAuthChallenge";
  const result = await sendStep({ ...step, session }, operation, fields, [hash, ...secrets]);
  return await loginTokens(provider, result, world, signal);
}

function sendStep(
  { provider, world, session, signal }: StepRequest,
  operation: string,
  fields: Readonly<Record<string, unknown>>,
  secrets: readonly (Secret | undefined)[] = [],
): Promise<SendResult> {
  const body = { ...fields, ...(session && { Session: session.reveal() }) };
  const sent = request(provider, "challenge", operation, body, [session, ...secrets]);
  return send(sent, world, provider.timeoutMs, { signal });
}
