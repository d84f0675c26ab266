/**
 * The sandbox: identity provider, portal and data platform API on loopback, so that nobody needs an
 * account to start. It imports nothing from the client: two readings of the API document that check
 * each other.
 *
 * @module
 */
export { startSandbox } from "./start_sandbox.ts";
export { createSandbox } from "./sandbox.ts";
export type { Origins, Sandbox, SandboxSettings } from "./sandbox.ts";
export type { SandboxOptions, StartSandboxOptions } from "./options.ts";
export type { NewUser, UserStatus } from "./accounts.ts";
export type { ApiRequest } from "./data_api/data_api.ts";
export type { Failure } from "./failures.ts";
export type { TokenRequest } from "./identity_provider/identity_provider.ts";
export type { Words } from "./identity_provider/words.ts";
