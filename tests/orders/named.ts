import type { Op, Scenario } from "./scenario.ts";

/** Scenarios in which something went wrong once: what it was, as a user would say it. */
export const NAMED: readonly Scenario[] = [
  scenario("a refresh sends the refresh token of before another process's refresh", [
    op(0, "refresh"),
    op(0, "login", { after: 0 }),
    op(1, "refresh", { after: 1 }),
    op(0, "refresh", { after: 2 }),
  ]),
  scenario("a login is well, and a logout elsewhere that began earlier ends it", [
    op(0, "logout"),
    op(1, "login"),
    op(1, "refresh"),
  ], { rotates: false, slowWrites: true }),
  scenario("an older refresh token is written over a newer one", [
    op(0, "refresh"),
    op(1, "login"),
    op(1, "refresh", { after: 1 }),
    op(0, "refresh", { after: 2 }),
  ]),
  scenario("a login is lost by a call that wants a longer token", [
    op(0, "refresh"),
    op(1, "login"),
    op(1, "long-token"),
  ], { rotates: false, slowWrites: true }),
  scenario("a logout that is aborted is half done", [
    op(0, "logout", { signal: "x" }),
    op(1, "refresh"),
    op(0, "fetch"),
  ], { rotates: false, slowWrites: true, refusals: 2 }),
  scenario("a login saves what an aborted logout took out of memory", [
    op(0, "logout", { signal: "x" }),
    op(1, "refresh"),
    op(0, "refresh"),
    op(0, "login"),
  ], { slowWrites: true }),
  scenario("a call that received a 401 uses another token that is rejected, too", [
    op(0, "fetch"),
    op(1, "fetch"),
    op(1, "login"),
    op(0, "rejection"),
  ], { slowApi: true }),
  scenario("a logout everywhere sends a refresh token that its own refresh replaced", [
    op(0, "everywhere"),
    op(1, "refresh"),
    op(0, "refresh"),
  ], { begins: "due", slowWrites: true }),
  scenario("an aborted login takes back a refresh that the provider has made", [
    op(0, "login", { signal: "x" }),
    op(0, "refresh"),
  ], { sessions: 1, slowWrites: true }),
  scenario("two logins that one signal ends undo each other", [
    op(0, "login", { signal: "x" }),
    op(0, "login", { signal: "x" }),
  ], { sessions: 1, slowWrites: true }),
  scenario("a login rejects although its tokens are used", [
    op(0, "login", { signal: "x" }),
    op(0, "refresh"),
  ], { sessions: 1, rotates: false, slowWrites: true }),
  scenario("an aborted login ends the session for all", [
    op(0, "login", { signal: "x" }),
    op(0, "refresh"),
    op(1, "refresh"),
  ], { store: "by number" }),
  scenario("a call receives a 401 because two others that waited with it gave up", [
    op(0, "fetch", { signal: "x" }),
    op(0, "fetch", { signal: "x" }),
  ], { sessions: 1, begins: "rejected" }),
  scenario("a call receives a 401 because another one gave up between two attempts to refresh", [
    op(0, "fetch", { signal: "x" }),
  ], { sessions: 1, begins: "rejected", refusals: 1 }),
];

function op(by: number, what: Op["do"], more: Partial<Op> = {}): Op {
  return { by, do: what, ...more };
}

function scenario(name: string, ops: Op[], more: Partial<Scenario> = {}): Scenario {
  return { sessions: 2, rotates: true, store: "by text", ...more, name, ops };
}
