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
type Decision = { interruptId: string; status: "resolved" | "cancelled"; payload?: unknown };
type State = { asked?: string };
type Run = { threadId: string; runId: string; state: State; messages: Message[]; context: { description: string; value: string }[]; resume?: Decision[] };
type Interrupt = { id: string; reason: string; message: string; responseSchema: object };
type Content = string | ({ type: "text"; text: string } | { type: "document"; source: { type: "data"; value: string; mimeType: string }; metadata: object })[];

// The events that this agent sends. All of them: https://docs.ag-ui.com/concepts/events
type AgentEvent =
  | { type: "RUN_STARTED"; threadId: string; runId: string }
  | { type: "RUN_FINISHED"; threadId: string; runId: string; outcome?: { type: "interrupt"; interrupts: Interrupt[] } }
  | { type: "ACTIVITY_SNAPSHOT"; messageId: string; activityType: string; content: object }
  | { type: "ACTIVITY_DELTA"; messageId: string; activityType: string; patch: object[] }
  | { type: "STATE_SNAPSHOT"; snapshot: State }
  | { type: "RUN_ERROR"; message: string; code?: string }
  | { type: "TEXT_MESSAGE_START"; messageId: string; role: "assistant" }
  | { type: "TEXT_MESSAGE_CONTENT"; messageId: string; delta: string }
  | { type: "TEXT_MESSAGE_END"; messageId: string }
  | { type: "TOOL_CALL_START"; toolCallId: string; toolCallName: string }
  | { type: "TOOL_CALL_ARGS"; toolCallId: string; delta: string }
  | { type: "TOOL_CALL_END"; toolCallId: string }
  | { type: "TOOL_CALL_RESULT"; toolCallId: string; messageId: string; content: Content; role: "tool" };

const key = process.env.AGENT_KEY ?? "";
const maxBody = 32 << 20; // bytes

/** answer yields the events of one answer, and returns what it asks the user. The last message is the question. */
async function* answer(run: Run, signal: AbortSignal): AsyncGenerator<AgentEvent, Interrupt[]> {
  const { messages } = run;
  if (run.resume?.length) {
    yield* resume(run.state, run.resume[0]!);
    return [];
  }
  const question = textOf(messages[messages.length - 1]);
  if (question.includes("book")) {
    const activity = { messageId: randomUUID(), activityType: "SEARCH" };
    yield { type: "ACTIVITY_SNAPSHOT", ...activity, content: { text: "🔎 Looking for trains…" } };
    yield* use("find_trains", { to: "Berlin" }, "08:00, 09:30");
    await sleep(1000, undefined, { signal });
    yield { type: "ACTIVITY_DELTA", ...activity, patch: [{ op: "replace", path: "/text", value: "🔎 Found 2 trains" }] };
    yield { type: "STATE_SNAPSHOT", snapshot: { asked: "train" } }; // comes back with each request: this program can be restarted
    return [{ id: "train", reason: "input_required", message: "Which train?", responseSchema: { enum: ["08:00", "09:30"] } }];
  } else if (question.includes("roll")) {
    yield* say("Let me roll.");
    yield* use("roll_dice", { sides: 6 }, String(randomInt(1, 7)));
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
  return [];
}

/** resume yields the rest of an answer that has asked the user. */
function* resume(state: State, decision: Decision): Generator<AgentEvent> {
  if (state.asked !== decision.interruptId) {
    yield { type: "RUN_ERROR", message: "there is no such question", code: "unknown_ask" };
  } else if (decision.status === "cancelled") {
    yield* say("Nothing was booked.");
  } else {
    const value = Buffer.from(`Ticket for the train at ${decision.payload}\n`).toString("base64");
    const ticket = { type: "document" as const, source: { type: "data" as const, value, mimeType: "text/plain" }, metadata: { filename: "ticket.txt" } };
    yield* use("book_train", { train: decision.payload }, [{ type: "text", text: "booked" }, ticket]);
    yield* say(`The train at ${decision.payload} is booked.`);
  }
}

/** use yields a call of a tool of this agent. */
function* use(toolCallName: string, args: object, content: Content): Generator<AgentEvent> {
  const toolCallId = randomUUID();
  yield { type: "TOOL_CALL_START", toolCallId, toolCallName };
  yield { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(args) };
  yield { type: "TOOL_CALL_END", toolCallId };
  yield { type: "TOOL_CALL_RESULT", toolCallId, messageId: randomUUID(), content, role: "tool" };
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
  const run = await body(request);
  const { threadId, runId } = run;
  const left = new AbortController();
  response.on("close", () => left.abort()); // /stop, or a newer question
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  let failed = false;
  const send = (event: AgentEvent) => {
    failed ||= event.type === "RUN_ERROR";
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  };
  try {
    send({ type: "RUN_STARTED", threadId, runId });
    const events = answer(run, left.signal);
    let next = await events.next();
    for (; !next.done; next = await events.next()) send(next.value);
    const interrupts = next.value;
    if (interrupts.length) send({ type: "RUN_FINISHED", threadId, runId, outcome: { type: "interrupt", interrupts } });
    else if (!failed) send({ type: "RUN_FINISHED", threadId, runId });
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
