from base import *
import collections, urllib.parse

class Broker:
    """Leases over HTTP; no tap stands before it. A lease ends after a second."""
    def __init__(self):
        self.lock = threading.Condition()
        self.waiting, self.leased = collections.deque(), {}
    def push(self, body):
        with self.lock:
            self.waiting.append(body)
            self.lock.notify()
    def pop(self):
        with self.lock:
            if not self.waiting:
                self.lock.wait(0.2)
            now = time.monotonic()
            for lease, (body, until) in list(self.leased.items()):
                if until < now:
                    del self.leased[lease]
                    self.waiting.append(body)
            if not self.waiting:
                return None
            lease, body = uuid.uuid4().hex, self.waiting.popleft()
            self.leased[lease] = (body, now + 1)
            return {"lease": lease, "body": body}
    def ack(self, lease):
        with self.lock:
            self.leased.pop(lease, None)
    def pending(self):
        with self.lock:
            return len(self.waiting) + len(self.leased)

def broker():
    held = Broker()
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/push": held.push(body["job"])
            elif self.path == "/ack": held.ack(body["lease"])
            self.answer({} if self.path != "/pop" else held.pop())
        def do_GET(self):
            self.answer({"pending": held.pending()})
        def answer(self, value):
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def log_message(self, *_): pass
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()

AT = "http://" + os.environ.get("BROKER", "")

def ask(path, value):
    return json.loads(http("POST", AT + path, value))

def take_and_push(key, name):
    job = take(key, name)
    ask("/push", {"job": job})
    return job

def worker():
    c = db()
    while True:
        found = ask("/pop", {})
        if found is None:
            continue
        if BROKEN:
            ask("/ack", {"lease": found["lease"]})
        time.sleep(0.2)
        c.execute("insert into results (job_id) values (%s) on conflict do nothing", (found["body"],))
        ask("/ack", {"lease": found["lease"]})

main({"migrate": migrate, "api": lambda: api(take_and_push), "broker": broker, "worker": worker,
      "waiting": lambda: print(json.loads(http("GET", AT + "/"))["pending"])})
