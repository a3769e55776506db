/** An event of a session's stream; a comment, the service's heartbeat, has no data. */
export interface StreamEvent {
  /** `message` for an unnamed one. */
  name: string;
  data: Record<string, unknown> | null;
}

/** The server-sent events in a stream's text, as the service writes them: one line of data each (docs/interface.md, Stream). */
export async function* eventsIn(text: AsyncIterable<string>): AsyncGenerator<StreamEvent> {
  let rest = "";
  for await (const piece of text) {
    const blocks = `${rest}${piece}`.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = fieldOf(block, "data");
      yield { name: fieldOf(block, "event") ?? "message", data: data === undefined ? null : (JSON.parse(data) as StreamEvent["data"]) };
    }
  }
}

const fieldOf = (block: string, name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1];
