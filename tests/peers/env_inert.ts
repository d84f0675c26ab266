/** Keeps bash, which runs what it reads, away from anything but assignments of plain text. */

const VALUE = [
  String.raw`[\w./+=:@%,\r\-\u{80}-\u{10FFFF}]`,
  "'[^'\0]*'",
  '"[^"$`\\\\\0]*"',
].join("|");
const COMMENT = String.raw`#[^\n\0]*`;
const LINE = new RegExp(
  String
    .raw`[ \t]*(?:(?:export[ \t]+)?(?<name>[A-Za-z_]\w*)=(?:${VALUE})*(?:[ \t]+${COMMENT})?[ \t]*` +
    String.raw`|(?:${COMMENT})?)(?:\n|$)`,
  "uy",
);

// Names that change how bash, or the program loader, goes on.
const POWERFUL = /^(?:LD_|DYLD_|BASH|PATH$|IFS$|ENV$|SHELLOPTS$|P?PID$|E?UID$)/;

/** Throws a `RangeError` unless the text holds only blank lines, comments and plain assignments. */
export function assertInert(text: string): void {
  for (let at = 0; at < text.length; at = LINE.lastIndex) {
    LINE.lastIndex = at;
    const name = LINE.exec(text)?.groups?.name;
    if (LINE.lastIndex === 0 || POWERFUL.test(name ?? "")) {
      const line = text.slice(0, at).split("\n").length;
      throw new RangeError(`Cannot give the file to bash: line ${line} may run something`);
    }
  }
}
