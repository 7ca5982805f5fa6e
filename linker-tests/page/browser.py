"""Chromium without a window, driven through chromedriver by the WebDriver protocol (W3C, "WebDriver"), which is JSON over
HTTP: what is needed of it takes no library."""

import base64
import contextlib
import ctypes
import http.client
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's reference, by the specification
KEYS = {"Enter": "\ue007", "Backspace": "\ue003", "Tab": "\ue004", "Left": "\ue012", "Up": "\ue013",
        "Right": "\ue014", "Down": "\ue015", "Home": "\ue011", "End": "\ue010"}

# As root Chromium has no sandbox to start; the others keep it from talking to anyone by itself.
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage", "--hide-scrollbars"]

# Longest wait for a page, in seconds.
PATIENCE = 120

PR_SET_CHILD_SUBREAPER = 36  # Source: linux/prctl.h


class Browser:
    def __init__(self, driver, chromium, size=(1280, 900), dark=False):
        with contextlib.ExitStack() as stack:
            self.start(stack, driver, chromium, size, dark)
            # Without an error so far, everything ends with the object.
            self.stack = stack.pop_all()

    def start(self, stack, driver, chromium, size, dark):
        profile = stack.enter_context(tempfile.TemporaryDirectory())
        # Processes of the browser outlive it, and would write to the profile while it is removed: those without a parent
        # become children of this process, which ends them.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        stack.callback(end_children)
        process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        stack.enter_context(process.stdout)
        stack.callback(process.terminate)
        port = next(int(line.split("port ")[1].strip(" .\n")) for line in process.stdout if "successfully on port" in line)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        arguments = ARGUMENTS + [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        options = {"binary": chromium, "args": arguments}
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                        "timeouts": {"script": PATIENCE * 1000}}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = "/session/" + session["sessionId"]
        stack.callback(self.call, "DELETE", self.session)
        # Windows have a smallest width; what is emulated has not.
        self.devtools("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        # Without motion a click hits what it was aimed at.
        wishes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.devtools("Emulation.setEmulatedMedia", features=features)
        # The browser's start page loads many files.
        self.open("about:blank")
        self.requests()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def call(self, method, path, body=None):
        content = None if body is None else json.dumps(body)
        self.connection.request(method, path, content, {"Content-Type": "application/json"})
        value = json.loads(self.connection.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}")
        return value

    def post(self, path, **body):
        return self.call("POST", self.session + path, body)

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    def open(self, url):
        self.post("/url", url=url)

    def script(self, text, *arguments):
        """What a function body returns in the page."""
        return self.post("/execute/sync", script=text, args=list(arguments))

    def until(self, text, *arguments, key=None):
        """Waits until a function body returns true, and presses a key again meanwhile. The limit ends a hang: a busy machine may take
        long to draw a page."""
        end = time.monotonic() + PATIENCE
        while not self.script(text, *arguments):
            if time.monotonic() > end:
                raise RuntimeError(f"not true after {PATIENCE} s: {text}")
            time.sleep(0.5 if key else 0.05)
            if key:
                self.type(key)

    def find(self, selector):
        return self.post("/element", using="css selector", value=selector)[ELEMENT]

    def click(self, selector):
        self.post(f"/element/{self.find(selector)}/click")

    def type(self, *keys):
        """Keys, by name or as text, to whatever has the focus."""
        presses = [key for name in keys for key in ([KEYS[name]] if name in KEYS else name)]
        actions = [{"type": kind, "value": key} for key in presses for kind in ("keyDown", "keyUp")]
        self.post("/actions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def screenshot(self, path, whole=False):
        shown = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shown["data"]))

    def console(self):
        """What the page and the browser reported as errors."""
        return [entry["message"] for entry in self.post("/se/log", type="browser")]

    def requests(self):
        """Every address that was asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.post("/se/log", type="performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


def end_children():
    """Ends all processes below this one, and waits for them."""
    while True:
        for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
