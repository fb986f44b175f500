// Serves route.ts without a framework:
//
//     npm ci && npm run build && PORT=9000 AGENT_KEY=a-secret MODEL_URL=http://127.0.0.1:11434/v1 npm start

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { POST } from "./route.js";

const key = process.env.AGENT_KEY ?? "";

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST" || (key && request.headers.authorization !== `Bearer ${key}`)) {
    response.writeHead(request.method === "POST" ? 401 : 405).end();
    return;
  }
  const left = new AbortController();
  response.on("close", () => left.abort()); // /stop, or a newer question
  const body = Readable.toWeb(request) as ReadableStream;
  const reply = await POST(new Request("http://agent/api/chat", { method: "POST", body, signal: left.signal, duplex: "half" } as RequestInit));
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  await pipeline(Readable.fromWeb(reply.body as import("node:stream/web").ReadableStream), response);
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
