/** What `gmn` alone says to a person who has not asked anything yet. */
export function card(version: string): string {
  return `gmn ${version}: Gemini in your shell

  gmn "why is the sky blue?"             one prompt, one answer
  git diff | gmn "review this change"    stdin goes before the prompt
  gmn -f notes.md "summarise"            files, images, PDF, directories
  gmn --demo "hello"                     the offline model: no account needed

  gmn auth status    which credential is used
  gmn demo           a short tour
  gmn --help         every flag
`;
}
