"""An agent in plain Python that Parley can put on Discord, Telegram and the web.

It answers with lines of JSON, the smaller of the two protocols in docs/your-agent.md. Replace `answer` with your own code.

    PORT=9000 AGENT_KEY=a-secret python3 agent.py
"""

import base64
import json
import os
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = os.environ.get("AGENT_KEY", "")
MAX_BODY = 32 << 20  # bytes


def answer(run):
    """Yields the events of one answer. The messages of run are the whole conversation; the last one is the question."""
    messages = run["messages"]
    if run.get("resume"):
        yield from resume(run["state"], run["resume"][0])
        return
    question = text_of(messages[-1])
    if "book" in question:
        yield {"type": "status", "id": "search", "text": "🔎 Looking for trains…"}
        yield {"type": "tool", "id": "find-1", "name": "find_trains", "arguments": {"to": "Berlin"}}
        time.sleep(1)
        yield {"type": "result", "id": "find-1", "text": "08:00, 09:30"}
        yield {"type": "status", "id": "search", "text": "🔎 Found 2 trains"}
        yield {"type": "state", "state": {"asked": "train"}}  # comes back with each request: this program can be restarted
        yield {"type": "ask", "id": "train", "text": "Which train?", "options": ["08:00", "09:30"]}
    elif "roll" in question:
        yield {"type": "text", "text": "Let me roll."}
        yield {"type": "tool", "id": "roll-1", "name": "roll_dice", "arguments": {"sides": 6}}
        yield {"type": "result", "id": "roll-1", "text": str(random.randint(1, 6))}
        yield {"type": "text", "text": "The dice have fallen."}
    elif "count" in question:
        for n in range(1, 1001):
            yield {"type": "text", "text": f"{n} "}
            time.sleep(0.05)
    elif "fail" in question:
        raise RuntimeError("this agent can't do that")
    else:
        earlier = sum(1 for m in messages[:-1] if m["role"] == "user")
        yield {"type": "text", "text": f"You said: {question} ({earlier} earlier)"}


def resume(state, decision):
    """Yields the rest of an answer that has asked the user."""
    if state.get("asked") != decision["interruptId"]:
        yield {"type": "error", "code": "unknown_ask", "message": "there is no such question"}
    elif decision["status"] == "cancelled":
        yield {"type": "text", "text": "Nothing was booked."}
    else:
        train = decision["payload"]
        ticket = base64.b64encode(f"Ticket for the train at {train}\n".encode()).decode()
        yield {"type": "file", "name": "ticket.txt", "mediaType": "text/plain", "data": ticket}
        yield {"type": "text", "text": f"The train at {train} is booked."}


def text_of(message):
    """Returns the text of a message, which can have parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part["type"] == "text")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if KEY and self.headers.get("Authorization") != f"Bearer {KEY}":
            return self.refuse(401, "the key is wrong")
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 < size <= MAX_BODY:
            return self.refuse(413, "the request has no body, or too much of it")
        run = json.loads(self.rfile.read(size))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Connection", "close")  # the answer ends with the connection
        self.end_headers()
        self.close_connection = True
        try:
            for event in answer(run):
                self.line(event)
            self.line({"type": "done"})
        except (BrokenPipeError, ConnectionResetError):
            print("the reader has left", file=sys.stderr, flush=True)  # /stop, or a newer question
        except Exception as e:  # your own code failed
            print(f"failed: {e}", file=sys.stderr, flush=True)
            self.line({"type": "error", "message": "the agent failed"})

    def line(self, event):
        self.wfile.write(json.dumps(event).encode() + b"\n")
        self.wfile.flush()

    def refuse(self, status, message):
        body = json.dumps({"error": message}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass  # requests are not logged


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
