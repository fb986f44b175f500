// An agent in TypeScript that Parley can put on Discord, Telegram and the web. It speaks AG-UI, as the agents of LangGraph, CopilotKit
// and others do: see docs/your-agent.md. Replace `answer` with your own code.
//
//     npm ci && npm run build && PORT=9000 AGENT_KEY=a-secret npm start
//
// Node.js 22.18 and later also run it without the build: node agent.ts

import { randomInt, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

type Part = { type: string; text?: string };
type Message = { id: string; role: string; content?: string | Part[] };
type Run = { threadId: string; runId: string; messages: Message[]; context: { description: string; value: string }[] };

// The events that this agent sends. All of them: https://docs.ag-ui.com/concepts/events
type AgentEvent =
  | { type: "RUN_STARTED" | "RUN_FINISHED"; threadId: string; runId: string }
  | { type: "RUN_ERROR"; message: string }
  | { type: "TEXT_MESSAGE_START"; messageId: string; role: "assistant" }
  | { type: "TEXT_MESSAGE_CONTENT"; messageId: string; delta: string }
  | { type: "TEXT_MESSAGE_END"; messageId: string }
  | { type: "TOOL_CALL_START"; toolCallId: string; toolCallName: string }
  | { type: "TOOL_CALL_ARGS"; toolCallId: string; delta: string }
  | { type: "TOOL_CALL_END"; toolCallId: string }
  | { type: "TOOL_CALL_RESULT"; toolCallId: string; messageId: string; content: string; role: "tool" };

const key = process.env.AGENT_KEY ?? "";
const maxBody = 32 << 20; // bytes

/** answer yields the events of one answer. messages are the whole conversation; the last one is the question. */
async function* answer(messages: Message[], signal: AbortSignal): AsyncGenerator<AgentEvent> {
  const question = textOf(messages[messages.length - 1]);
  if (question.includes("roll")) {
    yield* say("Let me roll.");
    const toolCallId = randomUUID();
    yield { type: "TOOL_CALL_START", toolCallId, toolCallName: "roll_dice" };
    yield { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify({ sides: 6 }) };
    yield { type: "TOOL_CALL_END", toolCallId };
    yield { type: "TOOL_CALL_RESULT", toolCallId, messageId: randomUUID(), content: String(randomInt(1, 7)), role: "tool" };
    yield* say("The dice have fallen.");
  } else if (question.includes("count")) {
    for (let n = 1; n <= 1000; n++) {
      yield* say(`${n}`);
      await sleep(50, undefined, { signal });
    }
  } else if (question.includes("fail")) {
    throw new Error("this agent can't do that");
  } else {
    const earlier = messages.slice(0, -1).filter((m) => m.role === "user").length;
    yield* say(`You said: ${question} (${earlier} earlier)`);
  }
}

/** say yields one message. */
function* say(delta: string): Generator<AgentEvent> {
  const messageId = randomUUID();
  yield { type: "TEXT_MESSAGE_START", messageId, role: "assistant" };
  yield { type: "TEXT_MESSAGE_CONTENT", messageId, delta };
  yield { type: "TEXT_MESSAGE_END", messageId };
}

/** textOf returns the text of a message, which can have parts. */
function textOf(message: Message | undefined): string {
  const content = message?.content ?? "";
  return typeof content === "string" ? content : content.map((p) => p.text ?? "").join(" ");
}

async function body(request: IncomingMessage): Promise<Run> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > maxBody) throw new Error("the request is too large");
    pieces.push(piece);
  }
  return JSON.parse(Buffer.concat(pieces).toString());
}

function refuse(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify({ error }));
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return refuse(response, 405, "only POST is answered");
  if (key && request.headers.authorization !== `Bearer ${key}`) return refuse(response, 401, "the key is wrong");
  const { threadId, runId, messages } = await body(request);
  const left = new AbortController();
  response.on("close", () => left.abort()); // /stop, or a newer question
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  const send = (event: AgentEvent) => response.write(`data: ${JSON.stringify(event)}\n\n`);
  try {
    send({ type: "RUN_STARTED", threadId, runId });
    for await (const event of answer(messages, left.signal)) send(event);
    send({ type: "RUN_FINISHED", threadId, runId });
  } catch (error) {
    if (left.signal.aborted) {
      console.error("the reader has left");
      return;
    }
    console.error("failed:", error);
    send({ type: "RUN_ERROR", message: "the agent failed" });
  }
  response.end();
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error("failed:", error);
    response.destroy();
  });
});
server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
