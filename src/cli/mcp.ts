import { parseArgs } from "node:util";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { addressOf, type Config, isLoopbackHost, takeConfig } from "#src/config/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { type ApiClient, ApiFault, openApiClient } from "./mcp/api-client.ts";
import { createMcpServer } from "./mcp/server.ts";
import { TOOLS, toolsFor } from "./mcp/tools.ts";
import { isHelped } from "./help.ts";
import { untilSignal } from "./signal.ts";

const USAGE = `Usage: voicetill mcp [--url URL]
An MCP server on standard input and output, for an agent developer's tool (an MCP client, which starts it): ${TOOLS.map(({ name }) => name).join(", ")}.
It uses a running service by its HTTP interface, at URL or BASE_URL, with the API key in VOICETILL_API_KEY or the file VOICETILL_API_KEY_FILE; those tools are offered that the key's scopes allow.
--json changes nothing: all that is printed is the protocol's JSON.`;

/** Meanwhile the client waits for its first answer. */
const START_MS = 5_000;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values } = parseArgs({ args, options: { url: { type: "string" }, json: { type: "boolean" } } });
  const config = takeConfig(process.env);
  const key = config.voicetillApiKey;
  if (key === null)
    throw new OperatorError(
      "VOICETILL_API_KEY: it must be set for voicetill mcp, or VOICETILL_API_KEY_FILE; voicetill keys create makes a key.",
    );
  const mode = key.reveal().startsWith("svc_live_") ? "live" : "test";
  const url = urlOf(values.url, config, mode);
  const api = openApiClient(url, key);
  const scopes = await scopesOf(api);
  const tools = toolsFor(scopes);
  if (tools.length === 0)
    throw new OperatorError(
      `The API key opens none of the tools: its scopes are ${scopes?.join(", ")}; ${TOOLS.map(({ scope }) => scope).join(", ")} would.`,
    );

  const transport = new StdioServerTransport();
  const connection = serveStdio(() => createMcpServer(api, tools, mode), { transport, onerror: ({ message }) => tell(message) });
  const ended = Promise.race([untilClosed(transport), untilSignal()]);
  tell(`MCP server for ${url} with a ${mode} key: ${tools.map(({ name }) => name).join(", ")}.`);
  await ended;
  await connection.close();
  return 0;
}

/** The client has closed standard input, or sent more in one message than is read. */
function untilClosed(transport: StdioServerTransport): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const close = transport.onclose;
  transport.onclose = () => {
    close?.();
    resolve();
  };
  return promise;
}

/** Standard output is the protocol's alone. */
const tell = (sentence: string) => void process.stderr.write(`${sentence}\n`);

function urlOf(given: string | undefined, config: Config, mode: string): string {
  const text = given ?? addressOf(config);
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || /[?#@]/.test(text))
    throw new OperatorError(`--url takes an http or https address without user name, query and fragment; ${JSON.stringify(text)} is none.`);
  if (given === undefined && config.baseUrl === null && config.port === 0)
    throw new OperatorError("--url: it must be given where PORT is 0; the service prints its address when it starts.");
  // Whoever listens in could take money with it.
  if (mode === "live" && url.protocol === "http:" && !isLoopbackHost(url.hostname))
    throw new OperatorError(`--url: a live key is not sent to ${url.hostname} unencrypted; give an https address.`);
  return text.replace(/\/+$/, "");
}

/**
 * What the key may do; null where it cannot be learnt now: a service that does not run yet may do so by the first call, and refuses then
 * what it must. Throws OperatorError for what the operator has to mend.
 */
async function scopesOf(api: ApiClient): Promise<readonly string[] | null> {
  try {
    const { headers } = await api.send("GET", "/v1/auth/check", { limitMs: START_MS });
    return headers.get("api-key-scopes")?.split(", ") ?? null;
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    if (error.status === 401) throw new OperatorError(`VOICETILL_API_KEY: the service refuses it (${error.message}).`, { cause: error });
    const mayPass = error.status === null || error.status === 429 || error.status >= 500;
    if (!mayPass) throw new OperatorError(error.message, { cause: error });
    tell(`${error.message} Until then every tool is offered, and every call refused.`);
    return null;
  }
}
