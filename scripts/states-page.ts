import { isTerminal, type State, TRANSITIONS } from "../src/sessions/states.ts";

/** docs/states.md: the state table as a diagram, generated so that it cannot differ from what runs. */
export function renderStates(): string {
  const lines: string[] = [];
  for (const [from, events] of Object.entries(TRANSITIONS)) {
    for (const [event, { to, deadline }] of Object.entries(events)) {
      lines.push(`  ${node(from)} --> ${node(to)} : ${event}${deadline ? ` (${deadline} expires_at)` : ""}`);
    }
    if (isTerminal(from) && !isPhase(from)) lines.push(`  ${node(from)} --> [*]`);
  }
  return `# States of a session

Generated from \`src/sessions/states.ts\` by \`npm run pages\`; a test keeps it current.

The statuses are those of the interface. \`collecting\`, \`charging\` and \`unknown\` are phases inside COLLECTING that the
interface does not show: the card is being collected, the gateway has been asked, its answer was lost. Every arrow is one
conditional UPDATE by the database's clock; a final status has no way out.

\`\`\`mermaid
stateDiagram-v2
  [*] --> PENDING : create
  state COLLECTING {
    collecting
    charging
    unknown
  }
${lines.join("\n")}
\`\`\`

## Two ways to pay one session

A voice session whose project says \`voice.pay_url: true\` can be paid by its call and on the page of its link (docs/widget.md). Neither
has a lock of its own: \`charge\` leads from \`collecting\` to \`charging\` once, whoever asks, and only that one calls the gateway. What ends
a session without a payment (\`fail\` for want of a card, \`abandon\`) does so from \`collecting\` alone, never under a charge of the other.

| when | the page of the link | the call |
|---|---|---|
| PENDING, no call yet | claims the session for one try; a decline that may be mended releases it | a call during the try is a 486, after a decline it is taken, after the payment a 410 |
| \`collecting\`, a call has it | may charge, also past \`expires_at\` | goes on asking |
| \`charging\` by the page | | "One moment, please", then thanks, or why not; after a decline that may be mended it goes on asking |
| \`charging\` by the call | 409, then the call's outcome (410) | as ever |
| both at once | one charges | the other is told as above; a card that the call had is not sent |
| \`unknown\` | 409 until it is known | "You will be told how it ended" |
| the fifth card of the page is declined, or a decline is final | 402, \`payment-failed\` | says why, and ends |
| five tries of the page were no cards | the link is used up: 410 | goes on |
| the caller hangs up or falls silent | abandoned, or payment-failed after a decline: 410; a try under way goes on and decides | over |
| the merchant cancels | 410; under a charge the cancel is a 409 | says so, and ends |
| PENDING past \`expires_at\` | expired: 410 | 410 |
| the switch is taken back | 404 | goes on |
`;
}

function isPhase(state: string): boolean {
  return (["collecting", "charging", "unknown"] satisfies State[] as string[]).includes(state);
}

/** Mermaid takes no hyphen in the name of a state. */
function node(state: string): string {
  return state.replaceAll("-", "_");
}
