import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsIn } from "./events.ts";
import { collected } from "./testing.ts";

const STREAM =
  'retry: 1000\nid: 0\ndata: {"status":"PENDING"}\n\n:\n\nevent: progress\ndata: {"step":"asking_number","try":1}\n\nid: 9\ndata: {"status":"cancelled"}\n\n';
const EVENTS = [
  { name: "message", data: { status: "PENDING" } },
  { name: "message", data: null },
  { name: "progress", data: { step: "asking_number", try: 1 } },
  { name: "message", data: { status: "cancelled" } },
];

async function* inPieces(text: string, length: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length);
}

test("events are the same however the stream is cut, heartbeats included", async () => {
  for (const length of [1, 2, 7, STREAM.length]) assert.deepEqual(await collected(eventsIn(inPieces(STREAM, length))), EVENTS);
});

test("an event that the stream ends in the middle of is none", async () => {
  assert.deepEqual(await collected(eventsIn(inPieces('data: {"a":1}\n\ndata: {"b', 4))), [{ name: "message", data: { a: 1 } }]);
});
