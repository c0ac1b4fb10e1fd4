"""The demo's web server: says which pod answers, in the pod's own colour."""

import html
import os
import signal
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

POD = os.environ["HOSTNAME"]
GREETING = os.environ.get("GREETING", "Hello")
HUE = zlib.crc32(POD.encode()) % 360
PAGE = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="1"><title>{html.escape(POD)}</title>
<style>
  body {{ margin: 0; height: 100vh; display: grid; place-content: center; text-align: center;
         font: 1.2rem system-ui, sans-serif; color: white; background: hsl({HUE} 45% 35%) }}
  h1 {{ font-size: 3rem; margin: 0 }} code {{ opacity: .8 }}
</style>
<h1>{html.escape(GREETING)}</h1><p>answered by <code>{html.escape(POD)}</code></p></html>
"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/crash":
            os._exit(1)
        text, kind = (POD, "text/plain") if self.path == "/who" else (PAGE, "text/html; charset=utf-8")
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Requests come twenty times a second."""


def stop(*_: object) -> None:
    raise SystemExit


signal.signal(signal.SIGTERM, stop)
ThreadingHTTPServer((os.environ["POD_IP"], 8080), Handler).serve_forever()
