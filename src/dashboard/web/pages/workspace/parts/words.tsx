// Words of others inside ours: names, addresses and subjects may turn the direction of text, or be very long.

/** For a place inside a sentence that is plain text. */
export function isolate(words: string): string {
  // First strong isolate … pop directional isolate: what is inside cannot turn what is around it.
  return `\u2068${words}\u2069`;
}

/** On one line, with all of it behind it. */
export function Line({ children }: { children: string }) {
  return (
    <bdi class="line" title={children.length > 60 ? children.slice(0, 1_000) : undefined}>
      {children}
    </bdi>
  );
}
