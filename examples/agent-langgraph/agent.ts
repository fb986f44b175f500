// A graph of LangGraph that Parley can put on Discord, Telegram and the web. It speaks AG-UI, with the packages of both: see
// docs/your-agent.md. Replace the nodes with those of your graph.
//
//     npm ci && npm run build && PORT=9000 AGENT_KEY=a-secret npm start
//
// The threads of Parley are those of the graph, so use it with history: last. Its checkpoints are in CHECKPOINTS, a file; a graph in
// production has them in a database.

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { deserialize, serialize } from "node:v8";

import { EventType, type BaseEvent, type RunAgentInput } from "@ag-ui/core";
import { EventEncoder } from "@ag-ui/encoder";
import { dispatchCustomEvent } from "@langchain/core/callbacks/dispatch";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";

// The graph: it searches, asks the user, and books.

const findTrains = tool(async () => "08:00, 09:30", { name: "find_trains", description: "Finds trains.", schema: z.object({ to: z.string() }) });
const bookTrain = tool(async () => "booked", { name: "book_train", description: "Books a train.", schema: z.object({ train: z.string() }) });

const Travel = Annotation.Root({ ...MessagesAnnotation.spec, trains: Annotation<string[]>, train: Annotation<string> });
type State = typeof Travel.State;

async function search(_: State, config: RunnableConfig) {
  await dispatchCustomEvent("status", "🔎 Looking for trains…", config);
  const trains = (await findTrains.invoke({ to: "Berlin" }, config)).split(", ");
  await dispatchCustomEvent("status", `🔎 Found ${trains.length} trains`, config);
  return { trains };
}

function ask(state: State) {
  return { train: interrupt({ message: "Which train?", options: state.trains }) as string };
}

async function book({ train }: State, config: RunnableConfig) {
  const value = Buffer.from(`Ticket for the train at ${train}\n`).toString("base64");
  await dispatchCustomEvent("file", { type: "document", source: { type: "data", value, mimeType: "text/plain" }, metadata: { filename: "ticket.txt" } }, config);
  await bookTrain.invoke({ train }, config);
  return { messages: [new AIMessage(`The train at ${train} is booked.`)] };
}

const talk = (state: State) => ({ messages: [new AIMessage(`You said: ${state.messages.at(-1)?.text}`)] });

/** FileSaver keeps checkpoints in a file, so that a run that waits for its user survives a restart. */
class FileSaver extends MemorySaver {
  private file: string;
  constructor(file: string) {
    super();
    this.file = file;
    if (existsSync(file)) Object.assign(this, deserialize(readFileSync(file)));
  }
  private save<T>(result: T): T {
    writeFileSync(this.file, serialize({ storage: this.storage, writes: this.writes }));
    return result;
  }
  override async put(...args: Parameters<MemorySaver["put"]>) {
    return this.save(await super.put(...args));
  }
  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>) {
    return this.save(await super.putWrites(...args));
  }
}

const graph = new StateGraph(Travel)
  .addNode("search", search)
  .addNode("ask", ask)
  .addNode("book", book)
  .addNode("talk", talk)
  .addConditionalEdges(START, (state: State) => (state.messages.at(-1)?.text.includes("book") ? "search" : "talk"), ["search", "talk"])
  .addEdge("search", "ask")
  .addEdge("ask", "book")
  .addEdge("book", END)
  .addEdge("talk", END)
  .compile({ checkpointer: new FileSaver(process.env.CHECKPOINTS ?? "checkpoints.bin") });

// From the events of LangGraph to those of AG-UI.

type AgentEvent = BaseEvent & Record<string, unknown>;

/** answer yields the events of one run of the graph. */
async function* answer(run: RunAgentInput, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  const config = { configurable: { thread_id: run.threadId }, signal };
  const ids = { threadId: run.threadId, runId: run.runId };
  const decision = run.resume?.[0];
  const waiting = async () => (await graph.getState(config)).tasks.flatMap((task) => task.interrupts);
  yield { type: EventType.RUN_STARTED, ...ids };
  if (decision && !(await waiting()).some((i) => i.id === decision.interruptId)) {
    yield { type: EventType.RUN_ERROR, message: "there is no such interrupt", code: "unknown_interrupt" };
    return;
  }
  const input: any = decision ? new Command({ resume: decision.payload ?? "none" }) : { messages: [new HumanMessage(question(run))] };
  const files: unknown[] = [];
  const messageId = randomUUID();
  let said = false;
  for await (const e of graph.streamEvents(input, { ...config, version: "v2" })) {
    if (e.event === "on_custom_event" && e.name === "status") {
      yield { type: EventType.ACTIVITY_SNAPSHOT, messageId: run.threadId, activityType: "STATUS", content: { text: e.data } };
    } else if (e.event === "on_custom_event" && e.name === "file") {
      files.push(e.data);
    } else if (e.event === "on_tool_start") {
      yield { type: EventType.TOOL_CALL_START, toolCallId: e.run_id, toolCallName: e.name };
      const args = e.data.input?.input ?? e.data.input ?? {};
      yield { type: EventType.TOOL_CALL_ARGS, toolCallId: e.run_id, delta: typeof args === "string" ? args : JSON.stringify(args) };
      yield { type: EventType.TOOL_CALL_END, toolCallId: e.run_id };
    } else if (e.event === "on_tool_end") {
      const text = String(e.data.output?.content ?? e.data.output);
      const content = files.length ? [{ type: "text", text }, ...files.splice(0)] : text;
      yield { type: EventType.TOOL_CALL_RESULT, toolCallId: e.run_id, messageId: randomUUID(), role: "tool", content };
    } else if (e.event === "on_chat_model_stream" && e.data.chunk?.text) {
      said = true;
      yield { type: EventType.TEXT_MESSAGE_CHUNK, messageId, role: "assistant", delta: e.data.chunk.text };
    }
  }
  const interrupts = (await waiting()).map((i) => ({ id: i.id, reason: "input_required", message: i.value.message, responseSchema: { enum: i.value.options } }));
  if (interrupts.length) {
    yield { type: EventType.RUN_FINISHED, ...ids, outcome: { type: "interrupt", interrupts } };
    return;
  }
  const last = (await graph.getState(config)).values.messages.at(-1);
  if (!said && last?.text) yield { type: EventType.TEXT_MESSAGE_CHUNK, messageId, role: "assistant", delta: last.text };
  yield { type: EventType.RUN_FINISHED, ...ids };
}

/** question returns the text of the last message. */
function question(run: RunAgentInput): string {
  const content = run.messages.at(-1)?.content ?? "";
  return typeof content === "string" ? content : JSON.stringify(content);
}

// The server.

const key = process.env.AGENT_KEY ?? "";
const maxBody = 32 << 20; // bytes

async function body(request: IncomingMessage): Promise<RunAgentInput> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > maxBody) throw new Error("the request is too large");
    pieces.push(piece);
  }
  return JSON.parse(Buffer.concat(pieces).toString());
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST" || (key && request.headers.authorization !== `Bearer ${key}`)) {
    response.writeHead(request.method !== "POST" ? 405 : 401).end();
    return;
  }
  const run = await body(request);
  const left = new AbortController();
  response.on("close", () => left.abort()); // /stop, or a newer question
  const encoder = new EventEncoder();
  response.writeHead(200, { "Content-Type": encoder.getContentType(), "Cache-Control": "no-cache" });
  try {
    for await (const event of answer(run, left.signal)) response.write(encoder.encode(event));
  } catch (error) {
    console.error(left.signal.aborted ? "the reader has left" : "failed:", left.signal.aborted ? "" : error);
    response.write(encoder.encode({ type: EventType.RUN_ERROR, message: "the agent failed" } as AgentEvent));
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
