import { hash, randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/server";
import { VERSION } from "#src/version.ts";
import type { ApiClient } from "./api-client.ts";
import type { AnyTool } from "./tools.ts";

/** For the model, beside the tools' own descriptions. */
function instructionsFor(mode: string): string {
  return [
    "Voicetill takes card payments from people on the telephone: it speaks with the caller itself.",
    "Make a session, transfer the live call to its sip_uri or phone_number, then wait for the outcome.",
    "Never ask for, accept or repeat card numbers, expiry dates or security codes.",
    mode === "live" ? "This is a live key: payments take real money." : "This is a test key: no money moves.",
  ].join(" ");
}

/** An MCP server with these tools. What a tool throws is told to the client as the tool's error, in its words. */
export function createMcpServer(api: ApiClient, tools: readonly AnyTool[], mode: string): McpServer {
  const connection = randomUUID();
  const server = new McpServer({ name: "voicetill", title: "Voicetill", version: VERSION }, { instructions: instructionsFor(mode) });
  for (const tool of tools) {
    const { name, title, description, input, hints } = tool;
    server.registerTool(name, { title, description, inputSchema: input, annotations: hints }, async (values: unknown, { mcpReq }) => {
      const token = mcpReq._meta?.progressToken;
      let told = 0;
      const onStep = (message: string) => {
        if (token === undefined) return;
        const params = { progressToken: token, progress: ++told, message };
        // A client that has gone is told nothing, and what it asked for is not undone by that.
        mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
      };
      const requestKey = `mcp-${hash("sha256", `${connection} ${JSON.stringify(mcpReq.id)}`)}`;
      const { shown, note } = await tool.run(values, { api, requestKey, signal: mcpReq.signal, onStep });
      const texts = [JSON.stringify(shown), ...(note === undefined ? [] : [note])];
      return { content: texts.map((text) => ({ type: "text" as const, text })), structuredContent: shown };
    });
  }
  return server;
}
