"""A small web server for the tests: ranges, validators, and faults on demand.

    Server.py ROOT STATE

Serves ROOT on a free port of the loopback address. STATE is a directory: `port` appears there, each
request is a line of JSON in `log` before it is answered, `sent` has a line with the bytes of content
that went out for each, and `control` (JSON) is read before each request:
  rate     bytes a second at most
  cut      end the connection after so many bytes of content
  ranges   false: Range is ignored
  etag     "strong" (default), "weak", "none"
  date     false: no Last-Modified
  status   answer with this status
"""
import email.utils, hashlib, http.server, json, os, re, socketserver, sys, threading, time

root, state = sys.argv[1:3]
lock = threading.Lock()


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=root)

    def log_message(self, *arguments):
        pass

    def note(self, status, sent):
        line = dict(
            path=self.path, status=status, sent=sent, range=self.headers.get("Range"),
            tag=self.headers.get("If-None-Match"))
        with lock, open(state + "/log", "a") as log:
            log.write(json.dumps(line) + "\n")

    def empty(self, status, *fields):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", "0")
        self.note(status, 0)
        self.end_headers()

    def do_GET(self):
        try:
            self.answer()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self):
        with open(state + "/control") as control:
            wanted = json.load(control)
        if "status" in wanted:
            return self.empty(wanted["status"])
        path = self.translate_path(self.path)
        if os.path.isdir(path):
            if os.path.exists(path + "/index.html"):
                path = path + "/index.html"
            else:
                self.note(200, 0)
                return super().do_GET()
        try:
            content = open(path, "rb").read()
        except OSError:
            return self.empty(404)
        # By content and time, so that a file of the same content is another one after a touch.
        time_ns = os.stat(path).st_mtime_ns
        tag = '"' + hashlib.sha1(content + str(time_ns).encode()).hexdigest() + '"'
        if wanted.get("etag") == "weak":
            tag = "W/" + tag
        date = email.utils.formatdate(time_ns // 1_000_000_000, usegmt=True)
        fields = []
        if wanted.get("etag") != "none":
            fields.append(("ETag", tag))
        if wanted.get("date", True):
            fields.append(("Last-Modified", date))
        if self.headers.get("If-None-Match"):
            if self.headers["If-None-Match"] == tag:
                return self.empty(304, *fields)
        elif self.headers.get("If-Modified-Since") == date:
            return self.empty(304, *fields)
        start, status = 0, 200
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        same = condition is None or condition == date or (
            condition == tag and not tag.startswith("W/"))
        if match and wanted.get("ranges", True) and same:
            start, status = int(match[1]), 206
            if start >= len(content):
                return self.empty(416, ("Content-Range", f"bytes */{len(content)}"))
            fields.append(("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"))
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) - start))
        self.note(status, len(content) - start)
        self.end_headers()
        self.send(content[start:], wanted)

    def send(self, content, wanted):
        end = min(len(content), wanted.get("cut", len(content)))
        sent = 0
        began = time.monotonic()
        try:
            while sent < end:
                piece = content[sent : min(sent + 16384, end)]
                self.wfile.write(piece)
                sent += len(piece)
                if "rate" in wanted:
                    ahead = sent / wanted["rate"] - (time.monotonic() - began)
                    if ahead > 0:
                        time.sleep(ahead)
        finally:
            with lock, open(state + "/sent", "a") as log:
                log.write(f"{sent}\n")
        if end < len(content):
            self.close_connection = True


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
with open(state + "/port.new", "w") as port:
    port.write(str(server.server_address[1]))
os.rename(state + "/port.new", state + "/port")
server.serve_forever()
