"""Many turns over one `gmn --input-format stream-json`, mixed by a seed, against the model of model.ts.

    python3 turns.py <seed> <turns> <command of gmn>...

Approvals, changed arguments, cancellations in mid-stream and mid-tool, lines that mean nothing, and a reader that stops.
Then the process is killed, several times, and another goes on with its session. Prints one line of JSON for each check:
its name, figures, and `problem` if it does not hold. SIGUSR2 makes gmn collect its garbage and write its heap to $HEAP_FILE.
"""

import fcntl, json, os, pathlib, queue, random, re, signal, statistics, struct, subprocess, sys, termios, threading, time

SEED, TURNS, GMN = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
FLAGS = ["--input-format", "stream-json", "-o", "stream-json", "--tools", "all", "--relay-approvals"]
HEAP = pathlib.Path(os.environ["HEAP_FILE"])
PIPE_SIZE = 1032  # F_GETPIPE_SZ, which Python 3.9 does not name
LOOKS = 8
MAX_LINE = 32_000_000
# What a process is in the middle of when it is killed.
MANNERS = ["stream", "tool", "asked", "slow", "burst", "writes", "burst", "writes"]
CHOICE = random.Random(SEED)

# Of each twenty turns; the rest is plain.
KINDS = ["yes", "yes", "no", "change", "change", "again", "pair", "asked", "stream", "flood", "tool", "refuse", "waiting", "repeat"]
CANCELLED = {"asked", "stream", "flood", "tool", "waiting"}
SLOW_TEXT = "".join(f"{index} ".ljust(8191, "x") + "\n" for index in range(256))
# All that ends a line for some reader, but not here; text beyond the BMP; and what a shell or a terminal would take for itself.
ODD_TEXT = "a\u2028b\u2029c\u0085d\re\nf\x0bg\x0ch\x1b[31mi\u0000j \U0001f600 \u65e5\u672c \ufeff \"'\\ $(true) `x`"
# Besides the text of its answer a turn may leave its prompt, its calls and their results in the conversation, and nothing else.
MAX_BYTES_PER_TURN = 12_288
# The heap is what counts: what is resident depends on when garbage was collected last. Each request of the last turns has 8 MB.
MAX_RESIDENT_GROWTH = 128_000_000


def malformed(number):
    """Lines that are no requests, with a part of what gmn must say about them."""
    deep = 100_000
    return [
        (b'{"type":', "not JSON"),
        (b"\x00\x01\x02", "not JSON"),
        (b"hello", "not JSON"),
        (b'{"type":"ping"}{"type":"ping"}', "not JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"[" * deep + b"]" * deep, "not a JSON object"),
        (b'{"type":"ping","x":' + b"[" * deep + b"]" * deep + b"}", "nested deeper"),
        (b'{"type":"prompt","id":"deep","text":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}", "nested deeper"),
        (b'{"type":"steer","id":"x","text":"y"}', '"type" must be'),
        (b'{"TYPE":"ping"}', '"type" must be'),
        (b'{"type":"prompt","id":"x"}', 'either "text" or "parts"'),
        (b'{"type":"prompt","id":"x","text":"y","colour":"red"}', 'has no "colour"'),
        (b'{"type":"prompt","id":"t0","text":"the same id again"}', "before"),
        (b'{"type":"cancel","id":"nobody"}', "there is no prompt"),
        (b'{"type":"approve","call":"nothing","decision":"yes"}', "waits for an approval"),
        (b'{"type":"prompt","id":"latin-%d","text":"caf\xe9"}' % number, "not UTF-8"),
        (b'{"type":"prompt","id":"cut-%d","text":"\xf0\x9f\x98"}' % number, "not UTF-8"),
    ]


class Gmn:
    """One process. What it writes is read by a thread, which can be stopped."""

    def __init__(self, *flags):
        self.errors = open("stderr.txt", "ab+")
        self.process = subprocess.Popen([*GMN, *FLAGS, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self.events = []
        self.lines = 0
        self.arrived = queue.Queue()
        self.may_read = threading.Event()
        self.may_read.set()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:  # bytes are split on LF only
            self.arrived.put(line)
            self.may_read.wait()
        self.arrived.put(None)

    def send(self, *lines):
        """Objects and bytes, each as a line. Gives the number of the last."""
        encoded = [line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=CHOICE.random() < 0.5).encode() for line in lines]
        self.write(b"".join(line + b"\n" for line in encoded))
        return self.lines

    def write(self, data):
        self.lines += data.count(b"\n")
        # Pieces of any size, as a pipe delivers them.
        while data:
            size = CHOICE.choice([1, 7, 100, 4096, 1 << 30]) if len(data) < 10_000 else len(data)
            self.process.stdin.write(data[:size])
            self.process.stdin.flush()
            data = data[size:]

    def next(self):
        line = self.arrived.get()
        if line is None:
            return None
        if not line.endswith(b"\n"):
            raise AssertionError(f"the last line is cut: {line[-80:]!r}")
        event = json.loads(line.decode("utf-8", "strict"))
        self.events.append(event)
        return event

    def until(self, matches):
        while True:
            event = self.next()
            if event is None:
                raise AssertionError(f"gmn has ended: {self.events[-2:]}")
            if matches(event):
                return event

    def unread(self):
        return struct.unpack("i", fcntl.ioctl(self.process.stdout, termios.FIONREAD, b"\0" * 4))[0]

    def stop_reading_until_full(self):
        """Until gmn cannot write any more. The thread may have one more line in its hands, and a buffer of them."""
        self.may_read.clear()
        room = fcntl.fcntl(self.process.stdout, PIPE_SIZE)
        poll(lambda: self.unread() > room - 8192)

    def heap(self):
        HEAP.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR2)
        poll(lambda: HEAP.exists() and HEAP.read_text() != "")
        return int(HEAP.read_text())

    def memory(self):
        """The least of several looks: a request of megabytes may be on its way out at the first."""
        heap = min(self.heap() for _ in range(5))
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        resident, peak = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024 for name in ("VmRSS", "VmHWM"))
        return {"heap": heap, "resident": resident, "peak": peak}

    def kill(self):
        """What it had written by then is read."""
        self.process.kill()
        self.may_read.set()
        self.process.wait()
        while (line := self.arrived.get()) is not None:
            # The last line may be half a line.
            if line.endswith(b"\n"):
                self.events.append(json.loads(line))

    def end(self, last):
        """The last line needs no LF."""
        self.write(last)
        self.process.stdin.close()
        while self.next() is not None:
            pass
        return self.process.wait()


def poll(is_so):
    while not is_so():
        time.sleep(0.002)


def is_ending(event):
    return "turn" in event and event["type"] in ("done", "error")


def prompt(id, text):
    return {"type": "prompt", "id": id, "text": text}


def read_pid():
    """Waits for the command of a tool to say that it runs. It reads what this program opens, and gmn does not."""
    with open("pipe") as pipe:
        return int(pipe.read())


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def choose_turns():
    kinds = []
    while len(kinds) < TURNS:
        block = KINDS + ["plain"] * (20 - len(KINDS))
        CHOICE.shuffle(block)
        kinds += block
    kinds = kinds[:TURNS]
    # A few only: each is sent again with all requests after it.
    for place in (TURNS // 3, TURNS // 2, TURNS - 5):
        kinds[place + CHOICE.randrange(5)] = "slow"
    return [(f"t{index}", kind, index) for index, kind in enumerate(kinds)]


class Scene:
    """The turns of one process, and what the program at its other end has seen."""

    def __init__(self):
        self.gmn = Gmn()
        self.turns = choose_turns()
        self.kinds = {id: kind for id, kind, _ in self.turns}
        self.refused = {}  # the number of a line: what is said about it
        self.pings = 0
        self.tools = []
        self.questions = {}
        self.held = set()
        self.looks = []

    def run(self):
        waiting = list(self.turns)
        unfinished = set()
        step = TURNS // LOOKS
        while waiting or unfinished:
            must_look = TURNS - len(waiting) >= step * (len(self.looks) + 1)
            if must_look and not unfinished:
                self.look(TURNS - len(waiting))
                continue
            if waiting and not must_look and len(unfinished) < CHOICE.choice([1, 1, 4]):
                burst = [waiting.pop(0) for _ in range(min(len(waiting), CHOICE.choice([1, 1, 2, 5])))]
                unfinished |= {id for id, _, _ in burst}
                self.send(burst)
            event = self.gmn.next()
            if event is None:
                raise AssertionError(f"gmn has ended: {self.gmn.events[-2:]}")
            self.handle(event)
            if is_ending(event):
                unfinished.discard(event["turn"])
        self.look(TURNS)

    def look(self, turn):
        """How much memory there is, and how much was said by then: a conversation is kept whole."""
        said = sum(len(event["text"]) for event in self.gmn.events if event["type"] == "content")
        self.looks.append({"turn": turn, "said": said, **self.gmn.memory()})

    def send(self, burst):
        for id, kind, index in burst:
            text = f"repeat {index} {ODD_TEXT}" if kind == "repeat" else f"{kind} {index}"
            if CHOICE.random() < 0.3:
                self.send_noise(index)
            if index % 150 == 75:
                self.refused[self.gmn.send(b'{"type":"prompt","id":"huge","text":"' + b"x" * MAX_LINE + b'"}')] = "longer than"
            self.gmn.send(prompt(id, text), *([{"type": "cancel", "id": id}] if kind == "waiting" else []))

    def send_noise(self, index):
        if CHOICE.random() < 0.3:
            # No requests, and no errors; and a request with the line ending of Windows, or a mark of its encoding.
            self.gmn.write(CHOICE.choice([b"\n", b"\r\n", b"  \t\r\n", b"\n\n\n"]))
            self.gmn.write(CHOICE.choice([b'{"type":"ping"}\r\n', b'\xef\xbb\xbf{"type":"ping"}\n', b' {"type":"ping"} \n']))
            self.pings += 1
        else:
            line, message = CHOICE.choice(malformed(index))
            self.refused[self.gmn.send(line)] = message

    def handle(self, event):
        type, turn = event["type"], event.get("turn")
        kind = self.kinds.get(turn)
        if type == "approval":
            self.decide(event, kind)
        elif type == "content" and kind in ("stream", "flood") and turn not in self.held:
            self.held.add(turn)
            self.gmn.send({"type": "cancel", "id": turn})
        elif type == "content" and kind == "slow" and turn not in self.held:
            self.held.add(turn)
            self.gmn.stop_reading_until_full()
            # They wait in a pipe that gmn does not read from before there is room in its own.
            self.gmn.send({"type": "ping"}, {"type": "ping"})
            self.pings += 2
            self.gmn.may_read.set()

    def decide(self, event, kind):
        turn, call, args = event["turn"], event["call"], event["args"]
        self.questions.setdefault(turn, []).append(event)
        changed = {"file_path": "changed-" + args.get("file_path", ""), "content": f"program {turn}\n"}
        no = {"decision": "no", "reason": "not this file"}
        yes = {"decision": "yes"}
        if kind == "asked":
            return self.gmn.send({"type": "cancel", "id": turn})
        if kind == "pair":
            decision = yes if "pair-yes" in args["file_path"] else no
        elif kind == "again" and "note" not in event:
            decision = {**yes, "args": {**changed, "file_path": "../outside.txt"}}
        else:
            decision = {"no": no, "change": {**yes, "args": changed}, "again": {**yes, "args": changed}}.get(kind, yes)
        self.gmn.send({"type": "approve", "call": call, **decision})
        if kind == "tool":
            self.tools.append(read_pid())
            self.gmn.send({"type": "cancel", "id": turn})

    # What must hold.

    def own(self, id):
        return [event for event in self.gmn.events if event.get("turn") == id]

    def text(self, id):
        return "".join(event["text"] for event in self.own(id) if event["type"] == "content")

    def check_endings(self):
        wrong = []
        for id, kind, _ in self.turns:
            own = self.own(id)
            endings = [event for event in own if is_ending(event)]
            expected = "Interrupted" if kind in CANCELLED else "ApiError" if kind == "refuse" else "done"
            found = [event.get("error", {}).get("type", event["type"]) for event in endings]
            if found != [expected] or own[-1] is not endings[0] or own[0]["type"] not in ("accepted", "queued"):
                wrong.append(f"{id} {kind}: {[event['type'] for event in own]} {found}")
        strange = [event for event in self.gmn.events if event.get("turn", "t0") not in self.kinds]
        homeless = [event for event in self.gmn.events if event["type"] == "done" and "turn" not in event]
        return wrong + strange + homeless, {"turns": len(self.turns), **count(self.kinds.values())}

    def check_order(self):
        """Turns run in the order of their prompts; one that is cancelled while it waits ends at once."""
        ended = [event["turn"] for event in self.gmn.events if is_ending(event)]
        wanted = [id for id, kind, _ in self.turns if kind != "waiting"]
        wrong = [] if [id for id in ended if self.kinds.get(id) != "waiting"] == wanted else [ended]
        # Between the start of a turn and its ending there are no events of another, but for the queue.
        running = None
        for event in self.gmn.events:
            turn, type = event.get("turn"), event["type"]
            if turn is None or type in ("accepted", "queued") or self.kinds.get(turn) == "waiting":
                continue
            if turn != running and running is not None:
                wrong.append(f"{type} of {turn} in {running}")
            running = None if is_ending(event) else turn
        for id, kind, index in self.turns:
            text = self.text(id)
            expected = {"plain": f"answer {index}", "repeat": f"repeat {index} {ODD_TEXT}", "stream": f"half {index}"}.get(kind)
            if expected is not None and text != expected:
                wrong.append(f"{id} {kind}: {text!r}")
        return wrong, {"events": len(self.gmn.events)}

    def check_approvals(self):
        """What was decided is what was done: the files say so."""
        wrong, files = [], {}
        for id, kind, index in self.turns:
            asked = {"yes": 1, "no": 1, "change": 1, "again": 2, "pair": 2, "asked": 1, "tool": 1}.get(kind, 0)
            if len(self.questions.get(id, [])) != asked:
                wrong.append(f"{id} {kind}: {len(self.questions.get(id, []))} questions")
            withdrawn = [event for event in self.own(id) if event["type"] == "approval_cancelled"]
            if len(withdrawn) != (1 if kind == "asked" else 0):
                wrong.append(f"{id} {kind}: {withdrawn}")
            if kind in ("yes", "pair"):
                files[f"{'pair-yes' if kind == 'pair' else kind}-{index}.txt"] = f"model {index}\n"
            if kind in ("change", "again"):
                files[f"changed-{kind}-{index}.txt"] = f"program {id}\n"
            if kind in ("no", "pair") and "not this file" not in self.text(id):
                wrong.append(f"{id} {kind}: the model was told {self.text(id)}")
            if kind in ("change", "again") and "changed-" not in self.text(id):
                wrong.append(f"{id} {kind}: the model was told {self.text(id)}")
        found = {path.name: path.read_text() for path in pathlib.Path(".").glob("*-*.txt")}
        if found != files:
            wrong.append({name: [files.get(name), found.get(name)] for name in files.keys() ^ found.keys()} or "other bytes")
        if pathlib.Path("../outside.txt").exists():
            wrong.append("a file outside was written")
        return wrong, {"questions": sum(map(len, self.questions.values())), "files": len(files)}

    def check_cancelled(self):
        wrong = [f"process {pid} is left" for pid in self.tools if is_alive(pid)]
        for id, kind, index in self.turns:
            error = self.own(id)[-1].get("error", {})
            if kind == "stream" and error.get("partialResponse") != f"half {index}":
                wrong.append(f"{id}: {error}")
        return wrong, {**count(kind for kind in self.kinds.values() if kind in CANCELLED)}

    def check_malformed(self):
        """Each such line has one error, with its number; nothing else has one."""
        errors = [event for event in self.gmn.events if event["type"] == "error" and "turn" not in event]
        found = {event.get("line"): event["error"]["message"] for event in errors}
        wrong = [
            f"line {line}: {found.get(line)!r}, not {self.refused.get(line)!r}"
            for line in sorted({*found, *self.refused}, key=str)
            if line not in self.refused or self.refused[line] not in found.get(line, "")
        ]
        if len(errors) != len(self.refused):
            wrong.append(f"{len(errors)} errors for {len(self.refused)} lines")
        pongs = sum(event["type"] == "pong" for event in self.gmn.events)
        if pongs != self.pings:
            wrong.append(f"{pongs} pongs for {self.pings} pings")
        return wrong, {"lines": len(self.refused), "pings": self.pings}

    def check_slow(self):
        slow = [id for id, kind, _ in self.turns if kind == "slow"]
        wrong = [f"{id}: {len(self.text(id))} characters" for id in slow if self.text(id) != SLOW_TEXT]
        return wrong, {"turns": len(slow), "bytesEach": len(SLOW_TEXT)}

    def check_memory(self):
        """The median of what is added between two looks, since code that is loaded or compiled once takes megabytes, too."""
        added = [
            (later["heap"] - later["said"] - one["heap"] + one["said"]) / (later["turn"] - one["turn"])
            for one, later in zip(self.looks, self.looks[1:])
        ]
        per_turn = round(statistics.median(added))
        grown = self.looks[-1]["resident"] - self.looks[0]["resident"]
        wrong = []
        if per_turn > MAX_BYTES_PER_TURN:
            wrong.append(f"{per_turn} bytes of heap a turn")
        if grown > MAX_RESIDENT_GROWTH:
            wrong.append(f"{grown} bytes more are resident")
        return wrong, {"bytesPerTurn": per_turn, "added": [round(bytes) for bytes in added], "looks": [self.looks[0], self.looks[-1]]}


def count(kinds):
    counts = {}
    for kind in kinds:
        counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def report(name, wrong, figures):
    problem = {"problem": f"{len(wrong)} wrong: {wrong[:3]}"[:2000]} if wrong else {}
    print(json.dumps({"name": name, **figures, **problem}), flush=True)


def give_up(*_):
    raise TimeoutError("nothing more has come")


def recall(gmn, id):
    """What the model was sent with this prompt: the role, the text and the hash of each content."""
    gmn.send(prompt(id, f"recall {id}"))
    gmn.until(lambda event: is_ending(event) and event["turn"] == id)
    return json.loads("".join(event["text"] for event in gmn.events if event["type"] == "content" and event["turn"] == id))


def check_history(known, turns):
    """The model is sent all that it was asked, in that order, except for what it refused or what was cancelled before."""
    wanted = [f"{kind} {index}" for _, kind, index in turns if kind not in ("refuse", "waiting")]
    prompts = [" ".join(text.split(" ")[:2]) for role, text, _ in known[:-1] if role == "user" and text]
    found = [text for text in prompts if not text.startswith("waiting ")]
    differing = [pair for pair in zip(found, wanted) if pair[0] != pair[1]]
    return differing or ([] if len(found) == len(wanted) else [f"{len(found)} of {len(wanted)}"]), {"contents": len(known)}


def die(gmn, manner, number):
    """Kills a process in the middle of something. Gives the prompts whose ending it had written."""
    if manner in ("burst", "writes"):
        # Wherever it happens to be: some turns are over, some wait.
        kind = "plain" if manner == "burst" else "yes"
        gmn.send({"type": "set", "mode": "auto_edit"}, *(prompt(f"k{number}.{index}", f"{kind} k{number}.{index}") for index in range(20)))
        for _ in range(CHOICE.randrange(5, 60)):
            gmn.next()
        gmn.kill()
        return [f"{kind} {event['turn']}" for event in gmn.events if event["type"] == "done" and event["turn"].startswith("k")]
    gmn.send(prompt("k", f"{manner} k{number}"))
    if manner in ("stream", "slow"):
        gmn.until(lambda event: event["type"] == "content" and event["turn"] == "k")
    if manner == "slow":
        gmn.stop_reading_until_full()
    if manner in ("asked", "tool"):
        call = gmn.until(lambda event: event["type"] == "approval")["call"]
    if manner == "tool":
        gmn.send({"type": "approve", "call": call, "decision": "yes"})
        pid = read_pid()
    gmn.kill()
    # Nobody is left to end the command.
    if manner == "tool" and is_alive(pid) and os.getpgid(pid) != os.getpgrp():
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    return []


def check_kills(gmn, session, known):
    """Another process goes on where one was killed: it sends all that was sent before, and what was answered since."""
    wrong = []
    manners = CHOICE.sample(MANNERS, len(MANNERS))
    for number, manner in enumerate(manners, 1):
        answered = die(gmn, manner, number)
        gmn = Gmn(*CHOICE.choice([["-r", session], ["-c"]]))
        sent = recall(gmn, f"r{number}")
        since = [text for _, text, _ in sent[len(known) :]]
        if sent[: len(known)] != known:
            wrong.append(f"{manner}: the conversation is another one")
        if [text for text in since if text in answered] != answered:
            wrong.append(f"{manner}: {answered} were answered, and {since} is known")
        for text in answered:
            if manner == "writes" and not pathlib.Path(f"yes-{text[4:]}.txt").exists():
                wrong.append(f"{text} was done, and there is no file")
        known = sent
    return gmn, wrong, {"kills": len(manners), "contents": len(known)}


def check_files():
    """
    All files are whole, and nothing is left of the processes that were killed, except for the hidden file beside its target
    that one of them was writing.
    """
    wrong, temporaries, torn = [], 0, 0
    for path in pathlib.Path(".").iterdir():
        name = re.fullmatch(r"(?:changed-)?(?:yes|pair-yes|change|again)-([k.\d]+)\.txt", path.name)
        if path.name in ("pipe", "stderr.txt"):
            continue
        if re.fullmatch(r"\.yes-k[.\d]+\.txt\.\d+\.[\da-z]+\.tmp", path.name):
            temporaries += 1
            continue
        if name is None or path.read_text() not in (f"model {name[1]}\n", f"program t{name[1]}\n"):
            wrong.append(f"{path}: {path.read_text()[:80]!r}")
    home = pathlib.Path.home() / ".gmn"
    files = [path for path in home.rglob("*") if path.is_file() and home / "cache" not in path.parents]
    for path in files:
        name = str(path.relative_to(home))
        if path.suffix == ".jsonl":
            wrong += [f"{name}: {line[:80]!r}" for line in path.read_bytes().split(b"\n") if line and not is_json(line)]
        elif re.search(r"\.jsonl\.torn-\w+$", name):
            torn += 1  # half a line, put aside by the process after
        elif name != "sessions/.pruned":
            wrong.append(f"{name} is left")
    sessions = len(list((home / "sessions").glob("*.jsonl")))
    if sessions != 1:
        wrong.append(f"{sessions} sessions")
    if temporaries > MANNERS.count("writes"):
        wrong.append(f"{temporaries} temporary files")
    return wrong, {"savedBytes": sum(path.stat().st_size for path in files), "temporaries": temporaries, "torn": torn}


def is_json(line):
    try:
        json.loads(line)
        return True
    except ValueError:
        return False


def check_exit(gmn):
    """The turns that wait when the input ends are run, and the worst of all decides the code."""
    gmn.send({"type": "set", "mode": "auto_edit"}, prompt("e0", "yes k0"), prompt("e1", "refuse e1"))
    code = gmn.end(json.dumps(prompt("e2", "plain e2")).encode())
    endings = [f"{event['turn']} {event['type']}" for event in gmn.events if is_ending(event)]
    wrong = [] if endings[-3:] == ["e0 done", "e1 error", "e2 done"] else [endings]
    if not pathlib.Path("yes-k0.txt").exists():
        wrong.append("a file cannot be changed any more")
    errors = pathlib.Path("stderr.txt").read_text()
    return wrong + ([errors] if errors else []) + ([] if code == 3 else [f"exit code {code}"]), {"exitCode": code}


def main():
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(600)
    os.mkfifo("pipe")
    settings = pathlib.Path.home() / ".gemini" / "settings.json"
    settings.parent.mkdir()
    # What the model is sent can be compared only if nothing is left out of it.
    settings.write_text(json.dumps({"model": {"compressionThreshold": 0}}))
    scene = Scene()
    began = time.monotonic()
    scene.run()
    seconds = round(time.monotonic() - began, 1)
    for name, check in [
        ("endings", scene.check_endings),
        ("order", scene.check_order),
        ("approvals", scene.check_approvals),
        ("cancelled", scene.check_cancelled),
        ("malformed", scene.check_malformed),
        ("slow reader", scene.check_slow),
        ("memory", scene.check_memory),
    ]:
        wrong, figures = check()
        report(name, wrong, {**figures, **({"seconds": seconds} if name == "endings" else {})})
    session = next(event["sessionId"] for event in scene.gmn.events if "sessionId" in event)
    known = recall(scene.gmn, "r0")
    report("history", *check_history(known, scene.turns))
    last, wrong, figures = check_kills(scene.gmn, session, known)
    report("killed", wrong, figures)
    report("exit", *check_exit(last))
    report("files", *check_files())


main()
