"""An agent in plain Python that Parley can put on Discord, Telegram and the web.

It answers with lines of JSON, the smaller of the two protocols in docs/your-agent.md. Replace `answer` with your own code.

    PORT=9000 AGENT_KEY=a-secret python3 agent.py
"""

import json
import os
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = os.environ.get("AGENT_KEY", "")
MAX_BODY = 32 << 20  # bytes


def answer(messages, context):
    """Yields the events of one answer. messages are the whole conversation; the last one is the question."""
    question = text_of(messages[-1])
    if "roll" in question:
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
            for event in answer(run["messages"], run["context"]):
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
