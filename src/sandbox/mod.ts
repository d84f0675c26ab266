/**
 * The sandbox: an identity provider, a portal and a data platform API on this machine, so that you
 * can start without an account. The sandbox imports nothing from the client: they are two
 * independent implementations of the API document, which check each other.
 *
 * @module
 */
export { startSandbox } from "./start_sandbox.ts";
export { createSandbox } from "./sandbox.ts";
export type { Sandbox } from "./sandbox.ts";
export type { Origins, SandboxSettings } from "./settings.ts";
export type { SandboxOptions, StartSandboxOptions, Words } from "./options.ts";
export type { NewUser, UserStatus } from "./accounts.ts";
export type { Failure } from "./failures.ts";
export type { SentCode } from "./identity_provider/challenges/sent_codes.ts";
export type { Device } from "./identity_provider/devices.ts";
export type { ApiRequest, TokenRequest } from "./records.ts";
export {
  type CheckedLock,
  type CheckedRecord,
  type CheckedStore,
  checkStore,
  type CheckStoreOptions,
  type StoreRule,
  StoreRuleError,
} from "./check_store.ts";
