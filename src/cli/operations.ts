import * as apply from "./apply.ts";
import * as audit from "./audit.ts";
import * as doctor from "./doctor.ts";
import * as exported from "./export.ts";
import * as gateways from "./gateways.ts";
import * as integrations from "./integrations.ts";
import * as keys from "./keys.ts";
import * as masterKey from "./master-key.ts";
import type { Operations } from "./operation.ts";
import * as migrate from "./migrate.ts";
import * as sessions from "./sessions.ts";
import * as sip from "./sip.ts";
import * as unmatched from "./unmatched.ts";
import * as voice from "./voice.ts";
import * as webhooks from "./webhooks.ts";
import * as widget from "./widget.ts";

/** What a command may ask of the running service over the control socket. */
export const OPERATIONS: Operations = {
  ...apply.operations,
  ...audit.operations,
  ...exported.operations,
  ...gateways.operations,
  ...integrations.operations,
  ...keys.operations,
  ...masterKey.operations,
  ...migrate.operations,
  ...sessions.operations,
  ...sip.operations,
  ...voice.operations,
  ...webhooks.operations,
  ...widget.operations,
  ...unmatched.operations,
  ...doctor.operations,
};
