"""A proxy for HTTP. proxy.py FILE: writes its port to FILE, then a line for each request. It passes on one request a connection, for CONNECT the bytes."""

import socket
import socketserver
import sys
import threading
import urllib.parse


def pass_on(source, target):
    """Until the source has no more, which the target is told."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Proxy(socketserver.StreamRequestHandler):
    rbufsize = 0

    def handle(self):
        line = self.rfile.readline().decode()
        headers = []
        while (header := self.rfile.readline()) not in (b"\r\n", b""):
            headers.append(header)
        method, target, version = line.split()
        with open(sys.argv[1], "a", encoding="utf-8") as file:
            file.write(line.rstrip() + "\n")
        if method == "CONNECT":
            host, port = target.rsplit(":", 1)
            head = b""
        else:
            url = urllib.parse.urlsplit(target)
            host, port = url.hostname, url.port or 80
            kept = [header for header in headers if not header.lower().startswith((b"connection:", b"proxy-"))]
            path = urllib.parse.urlunsplit(("", "", url.path, url.query, ""))
            head = f"{method} {path} {version}\r\n".encode() + b"".join(kept) + b"Connection: close\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=60) as server:
            server.settimeout(None)
            if method == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(head)
            thread = threading.Thread(target=pass_on, args=(self.connection, server), daemon=True)
            thread.start()
            pass_on(server, self.connection)
            thread.join()


with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as proxies:
    proxies.daemon_threads = True
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(f"{proxies.server_address[1]}\n")
    proxies.serve_forever()
