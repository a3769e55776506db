import { OperatorError } from "#src/kernel/errors.ts";
import { type GatewayName, GATEWAYS } from "#src/kernel/payment.ts";
import { findProject } from "./find-project.ts";
import { operation, type Operations, runnerOf } from "./operation.ts";

const AMOUNT_MINOR = 4995;

const preview = operation({
  arguments: "PROJECT",
  summary:
    "Makes a test session and says where its card form is: to look at the project's appearance. PROJECT: its slug, or ORGANIZATION/SLUG.",
  options: {},
  takes: 1,
  opening: { leavesAudit: true },
  read: (_, name: string) => ({ name }),
  async work({ database, projects, checkout, sessions, baseUrl }, { name }) {
    const { loaderSnippet } = await import("#src/widget/index.ts");
    const { id: project, organizationId, gateways } = findProject(await projects.overview(database.db), name);
    // Where the project has no sandbox credentials of its own, the simulator of any gateway serves.
    const gateway: GatewayName = gateways.find(({ environment }) => environment === "test")?.gateway ?? GATEWAYS[0];
    const wanted = { project, gateway, mode: "charge", amountMinor: AMOUNT_MINOR, description: "Preview", connectedAccount: null } as const;
    const result = await checkout.widgetSession({ organizationId, environment: "test" }, wanted);
    if (result.kind !== "valid")
      throw new OperatorError(`${name} has no credentials for a sandbox, and the simulators are off: apply some, or set SIMULATORS_PORT.`);
    const { id } = await sessions.create(database.db, result.session);
    return { session_id: id, widget_url: `${baseUrl}/widget/${id}`, html: loaderSnippet(baseUrl, id) };
  },
  show: ({ widget_url: url, html }) =>
    `The form, for half an hour:\n  ${url}\n\nIn a page of one of the project's widget.origins:\n${html}`,
});

export const operations: Operations = { "widget preview": preview };
export const run = runnerOf("widget", operations);
