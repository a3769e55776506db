import { isTerminal, type State, TRANSITIONS } from "./states.ts";

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

Generated from \`src/sessions/states.ts\` by \`renderStates()\`; a test keeps it current.

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
`;
}

function isPhase(state: string): boolean {
  return (["collecting", "charging", "unknown"] satisfies State[] as string[]).includes(state);
}

/** Mermaid takes no hyphen in the name of a state. */
function node(state: string): string {
  return state.replaceAll("-", "_");
}
