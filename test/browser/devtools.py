"""Chromium by its DevTools protocol, over a pipe: no package beside Python's own is needed."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Failure(Exception):
    pass


def find_browser():
    for name in BROWSERS:
        if shutil.which(name):
            return name
    return None


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="halflife-browser-")
        to_browser, ours = os.pipe()
        theirs, from_browser = os.pipe()
        self.writes, self.reads = ours, theirs

        def fds():
            os.dup2(to_browser, 198)
            os.dup2(from_browser, 199)
            os.dup2(198, 3)
            os.dup2(199, 4)

        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(
            [find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--host-resolver-rules=MAP *.example 127.0.0.1", "--user-data-dir=" + self.folder, "--lang=en-GB", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=fds, close_fds=False,
            env=dict(os.environ, TZ="Europe/Berlin", LANGUAGE="en_GB"))
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.serial, self.events = b"", 0, []

    def read(self, seconds):
        """One message, or None after so many seconds."""
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.reads], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            some = os.read(self.reads, 1 << 16)
            if not some:
                raise Failure("the browser ended: see " + self.log.name)
            self.rest += some
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, params=None, session=None, seconds=30):
        self.serial += 1
        serial = self.serial
        message = {"id": serial, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self.writes, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = self.read(end - time.monotonic())
            if got is None:
                break
            if got.get("id") == serial:
                if "error" in got:
                    raise Failure("%s: %s" % (method, got["error"].get("message")))
                return got["result"]
            self.events.append(got)
        raise Failure("%s was not answered in %d s" % (method, seconds))

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reads)
        os.close(self.writes)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    """A page of its own context: without cookies and cache of others."""

    def __init__(self, browser, width=1280, height=900, dark=False, headers=None):
        self.browser = browser
        self.context = browser.send("Target.createBrowserContext")["browserContextId"]
        target = browser.send("Target.createTarget", {"url": "about:blank", "browserContextId": self.context})["targetId"]
        self.session = browser.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self.problems = []  # reports of the content security policy, and errors of the console
        self.expected = []  # texts of messages that are no problems
        self.requests = []
        self.answers = {}  # a part of an URL -> what is answered in the server's place
        for method in ("Page.enable", "Runtime.enable", "Log.enable", "Network.enable", "Audits.enable"):
            self.send(method)
        self.send("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
        self.send("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        if headers:
            self.send("Network.setExtraHTTPHeaders", {"headers": headers})

    def send(self, method, params=None, seconds=30):
        result = self.browser.send(method, params, self.session, seconds)
        self.take_events()
        return result

    def take_events(self):
        rest = []
        events, self.browser.events = self.browser.events, rest
        for e in events:
            if e.get("sessionId") == self.session:
                self.take(e["method"], e["params"])
            else:
                rest.append(e)

    def take(self, method, p):
        if method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.note("exception: %s" % d.get("exception", {}).get("description", d.get("text")))
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.note("console: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.note("log: %s %s" % (p["entry"]["text"], p["entry"].get("url", "")))
        elif method == "Audits.issueAdded":
            self.note("issue: %s" % json.dumps(p["issue"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        elif method == "Fetch.requestPaused":
            self.answer(p)

    def note(self, text):
        if not any(e in text for e in self.expected):
            self.problems.append(text)

    def intercept(self, answers):
        """Answer requests whose URL has one of these parts with a JSON value."""
        self.answers = answers
        self.send("Fetch.enable", {"patterns": [{"urlPattern": "*/api/v1/*"}]})

    def answer(self, p):
        found = [v for k, v in self.answers.items() if k in p["request"]["url"]]
        if found:
            status, body = found[0] if isinstance(found[0], tuple) else (200, found[0])
            self.browser.send("Fetch.fulfillRequest", {
                "requestId": p["requestId"], "responseCode": status,
                "responseHeaders": [{"name": "Content-Type", "value": "application/json"}],
                "body": base64.b64encode(json.dumps(body).encode()).decode()}, self.session)
        else:
            self.browser.send("Fetch.continueRequest", {"requestId": p["requestId"]}, self.session)

    def evaluate(self, expression, seconds=30):
        got = self.send("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}, seconds)
        if "exceptionDetails" in got:
            raise Failure("%s: %s" % (expression[:80], got["exceptionDetails"].get("exception", {}).get("description")))
        return got["result"].get("value")

    def until(self, expression, what=None, seconds=20):
        """Look again until the expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.05)
        raise Failure("not in %d s: %s\n%s" % (seconds, what or expression, self.evaluate("document.body.innerText")[:2000]))

    def go(self, url, heading):
        """Open an address and wait for the page of that heading."""
        self.send("Page.navigate", {"url": "about:blank"})  # two places of the page are one document
        self.until("location.href === 'about:blank'")
        self.send("Page.navigate", {"url": url})
        self.until("document.querySelector('main h1')?.textContent.includes(%s) && !document.querySelector('main').hasAttribute('aria-busy')"
                   % json.dumps(heading), "the page %s at %s" % (heading, url))

    def key(self, key, code=None, number=0, shift=False):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", {
                "type": "rawKeyDown" if kind == "keyDown" and key != "Enter" else kind, "key": key, "code": code or key, "windowsVirtualKeyCode": number,
                "modifiers": 8 if shift else 0, **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {})})

    def type(self, text):
        self.send("Input.insertText", {"text": text})

    def picture(self, path, whole=True):
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        data = self.send("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole, **({"clip": clip} if whole else {})})
        with open(path, "wb") as f:
            f.write(base64.b64decode(data["data"]))

    def small_picture(self, path):
        """What a window of 900 pixels shows, for documents."""
        data = self.send("Page.captureScreenshot", {"format": "webp", "quality": 28})
        with open(path, "wb") as f:
            f.write(base64.b64decode(data["data"]))

    def close(self):
        self.browser.send("Target.disposeBrowserContext", {"browserContextId": self.context})
