/** Whether a person sits there: stdin and stderr are both terminals. */
export function isAttended(): boolean {
  // Seldom asked, so it is loaded only then.
  const { isatty } = process.getBuiltinModule('node:tty');
  return isatty(0) && isatty(2);
}
