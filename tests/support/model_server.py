#!/usr/bin/env python3
"""A scripted OpenAI-compatible model server (stdlib only, asyncio).

For benches and acceptance tests of agents: it answers from a script at zero (or set)
latency, records every request, measures prompt-prefix stability, and injects faults.

    python model_server.py --port 8900 --program builtin:add_loop?n=20 --record rec.jsonl
    python model_server.py --port 8900 --script script.json
    python model_server.py --program my_prog.py:decide

Endpoints
  POST /v1/chat/completions     stream or not, tool calls, usage
  GET  /v1/models   POST /v1/embeddings (deterministic, feature-hashed words)
  GET  /health /health_generate /get_model_info /get_server_info   (SGLang look-alikes)
  GET  /__ctl/stats[?conv=K]    prefix shares, step gaps, faults, cancels
  GET  /__ctl/requests[?conv=K&bodies=1]
  POST /__ctl/reset             forget everything recorded
  POST /__ctl/script            {"conv": K|null, "turns":[...], "advance": ..., "on_end": ...}
  POST /__ctl/program           {"conv": K|null, "program": "builtin:add_loop?n=400"}
  POST /__ctl/fault             {"conv": K|null, "kind": ..., "times": 1, ...}   queued, FIFO

Conversation key, first that is present: header x-conversation-id; an API key that starts with
"conv-"; body metadata.conversation_id, prompt_cache_key, session_id, user; a model name with "@KEY";
else a hash of the first system+user messages.

A turn: {"text": str, "tool_calls": [{"name","arguments",("id")}], "reasoning": str,
         "tps": float (0 = as fast as possible), "first_token_ms": float, "chunk_chars": 4,
         "finish_reason": str, "fault": {...}}
A script: {"model": "...", "default": {...}, "conversations": {KEY: {"turns": [...],
           "advance": "counter" | "assistant_messages", "on_end": "last" | "text" | "error"}}}
 advance=counter: the n-th answered request gets turn n (a faulted request does not advance).
 advance=assistant_messages: stateless; turn = number of assistant messages in the request, so a
           client that crashed and restarts gets the reply its own history calls for.

Faults (kind):
  status        {"status": 429|500|503|..., "retry_after": s}   before anything is sent
  html502       a proxy's HTML page with status 502
  slow_first    {"seconds": s}  then the normal reply
  drop          {"after_chunks": n}  TCP reset in mid-stream (non-stream: half of the body)
  no_done       stream ends cleanly without finish_reason and [DONE]
  stall         {"after_chunks": n, "seconds": s}
  malformed     {"after_chunks": n}  one chunk of broken JSON, then the rest
  malformed_end the stream stops after a broken chunk
  split_utf8    legal, but every TCP write is 1 byte short of a character border
  bad_tool_json tool arguments that are not JSON
  unknown_tool  a call of a tool that was not offered
  dup_tool_id   two calls with one id
  null_content  content null and no tool call
  huge          {"bytes": n} a text of n bytes
  ctx_overflow  400 with context_length_exceeded
"""

# Records are loose on purpose: this server also answers what no proper server would.
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false, reportAttributeAccessIssue=false
from __future__ import annotations

import argparse
import asyncio
import base64
import collections
import contextlib
import gc
import hashlib
import importlib.util
import json
import math
import os
import re
import socket
import struct
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

MODEL = "scripted-1"
RAW_ARGS = (
    False  # --raw-args: render tool arguments byte for byte (a client that re-serialises them then shows as a break)
)
perf = time.perf_counter


# ---------------------------------------------------------------- prompt rendering and prefixes
def _content_text(c) -> str:
    if c is None:
        return ""
    if isinstance(c, str):
        return c
    return "".join(p.get("text", "") if p.get("type") == "text" else json.dumps(p, sort_keys=False) for p in c)


def render_message(m: dict) -> str:
    out = [f"<|im_start|>{m.get('role')}\n", _content_text(m.get("content"))]
    for tc in m.get("tool_calls") or ():
        f = tc.get("function", {})
        a = f.get("arguments")
        if not RAW_ARGS:
            with contextlib.suppress(ValueError, TypeError):
                a = json.dumps(json.loads(a))  # as Qwen/Hermes templates in SGLang and vLLM do (parse, then tojson)
        out.append(f'\n<tool_call>\n{{"name": {json.dumps(f.get("name"))}, "arguments": {a}}}\n</tool_call>')
    out.append("<|im_end|>\n")
    return "".join(out)


def render_prompt(body: dict) -> bytes:
    """What a Qwen/Hermes-style chat template would feed the model: tools stand in the system
    block, so a changed or re-ordered tool list breaks the prefix at its very start."""
    msgs = body.get("messages") or []
    out = []
    tools = body.get("tools")
    i = 0
    if tools:
        sys_txt = ""
        if msgs and msgs[0].get("role") in ("system", "developer"):
            sys_txt = _content_text(msgs[0].get("content"))
            i = 1
        out.append("<|im_start|>system\n" + sys_txt + "\n\n# Tools\n<tools>")
        for t in tools:
            out.append("\n" + json.dumps(t))
        out.append("\n</tools><|im_end|>\n")
    for m in msgs[i:]:
        out.append(render_message(m))
    return "".join(out).encode("utf-8", "surrogatepass")


def lcp(a: bytes, b: bytes) -> int:
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    lo, hi = 0, n
    while lo < hi:
        mid = (lo + hi + 1) // 2
        if a[lo:mid] == b[lo:mid]:
            lo = mid
        else:
            hi = mid - 1
    return lo


# ---------------------------------------------------------------- deterministic embeddings
def embed(text: str, dim: int = 256) -> list[float]:
    v = [0.0] * dim
    words = re.findall(r"\w+", text.lower())
    for w in words:
        feats = [w] + [("#" + w + "#")[k : k + 3] for k in range(len(w))]
        for j, f in enumerate(feats):
            h = int.from_bytes(hashlib.blake2b(f.encode(), digest_size=8).digest(), "little")
            v[h % dim] += (1.0 if (h >> 40) & 1 else -1.0) * (1.0 if j == 0 else 0.3)
    n = math.sqrt(sum(x * x for x in v)) or 1.0
    return [x / n for x in v]


# ---------------------------------------------------------------- scripts and programs
class Req:
    """What a programmatic script sees."""

    __slots__ = ("body", "conv", "headers", "index", "messages", "state", "tools")

    def __init__(self, conv, body, index, state, headers):
        self.conv, self.body, self.index, self.state, self.headers = conv, body, index, state, headers
        self.messages = body.get("messages") or []
        self.tools = [t.get("function", t).get("name") for t in body.get("tools") or ()]

    def last(self, role):
        for m in reversed(self.messages):
            if m.get("role") == role:
                return m
        return None


def prog_add_loop(req: Req, n="20", pad="0"):
    """Call `add` n times, one call a turn, then answer. Turn by request count: works for any client."""
    n, i = int(n), req.index
    if i < n:
        args = {"a": i, "b": 1}
        if "add" not in req.tools and not req.tools:  # code agents: no native tools
            return {"text": f"Thought: add {i}.\n<code>\nr = add({i}, 1)\nprint(r)\n</code>"}
        return {"tool_calls": [{"name": "add", "arguments": args, "id": f"call_{i:06d}"}]}
    if "final_answer" in req.tools:
        return {"tool_calls": [{"name": "final_answer", "arguments": {"answer": f"done {n}"}, "id": f"call_{i:06d}"}]}
    if "finish" in req.tools:
        return {"tool_calls": [{"name": "finish", "arguments": {"message": f"done {n}"}, "id": f"call_{i:06d}"}]}
    if not req.tools:
        return {"text": f"Thought: done.\n<code>\nfinal_answer('done {n}')\n</code>"}
    return {"text": f"done {n}"}


def prog_echo(req: Req):
    m = req.last("user")
    return {"text": "echo: " + _content_text(m and m.get("content"))}


def prog_tokens(req: Req, n="1000", tps="0", chunk="4"):
    """n tokens of text."""
    n = int(n)
    return {
        "text": "".join(f"w{i % 1000:03d}"[:4] if i % 9 else "\nln " for i in range(n)),
        "tps": float(tps),
        "chunk_chars": int(chunk),
    }


def prog_by_tag(req: Req):
    """The user's message carries its own script: a fenced block ```turns [ ... ] ``` ; turn by
    the number of assistant messages after that user message. For tests through a UI."""
    for k in range(len(req.messages) - 1, -1, -1):
        m = req.messages[k]
        if m.get("role") == "user":
            g = re.search(r"```turns\s*(\[.*?\])\s*```", _content_text(m.get("content")), re.S)
            if g:
                turns = json.loads(g.group(1))
                done = sum(1 for x in req.messages[k + 1 :] if x.get("role") == "assistant")
                return turns[min(done, len(turns) - 1)]
    return {"text": "no script in the message"}


BUILTIN = {"add_loop": prog_add_loop, "echo": prog_echo, "tokens": prog_tokens, "by_tag": prog_by_tag}


def load_program(spec: str):
    """builtin:NAME?k=v  |  path/to/file.py:func  |  module:func"""
    spec, _, q = spec.partition("?")
    kw = dict(urllib.parse.parse_qsl(q))
    mod, _, fn = spec.rpartition(":")
    if mod == "builtin":
        f = BUILTIN[fn]
    elif mod.endswith(".py"):
        s = importlib.util.spec_from_file_location("ms_prog_" + hashlib.md5(mod.encode()).hexdigest()[:6], mod)
        m = importlib.util.module_from_spec(s)
        s.loader.exec_module(m)
        f = getattr(m, fn)
    else:
        f = getattr(importlib.import_module(mod), fn)
    return (lambda req: f(req, **kw)) if kw else f


class Conv:
    __slots__ = (
        "faults",
        "index",
        "key",
        "last_done",
        "last_prompt",
        "last_reply",
        "n_requests",
        "program",
        "script",
        "state",
    )

    def __init__(self, key):
        self.key, self.index, self.last_prompt, self.last_reply = key, 0, None, b""
        self.program = self.script = None
        self.state, self.n_requests, self.last_done = {}, 0, None
        self.faults = collections.deque()


class Core:
    def __init__(
        self,
        script=None,
        program=None,
        tps=0.0,
        record=None,
        keep_bodies=False,
        max_keep=200_000,
        model=MODEL,
        strict_key=None,
    ):
        self.model = model
        self.convs: dict[str, Conv] = {}
        self.default_program = load_program(program) if isinstance(program, str) else program
        self.script = script or {}
        self.tps = tps
        self.rec_file = Path(record).open("a", buffering=1) if record else None  # noqa: SIM115
        self.keep_bodies = keep_bodies
        self.records = collections.deque(maxlen=max_keep)
        self.faults = collections.deque()
        self.counts = collections.Counter()
        self.strict_key = strict_key

    # ---- which conversation
    def conv_key(self, headers, body):
        k = headers.get("x-conversation-id")
        a = headers.get("authorization", "")
        if not k and a.lower().startswith("bearer conv-"):
            k = a[7:]
        k = k or (body.get("metadata") or {}).get("conversation_id")
        k = k or body.get("prompt_cache_key") or body.get("session_id") or body.get("user")
        if not k and "@" in str(body.get("model", "")):
            k = body["model"].split("@", 1)[1]
        if not k:
            h = hashlib.sha1()
            for m in (body.get("messages") or [])[:6]:
                if m.get("role") in ("system", "developer", "user"):
                    h.update(_content_text(m.get("content")).encode("utf-8", "replace"))
                    if m.get("role") == "user":
                        break
            k = "h-" + h.hexdigest()[:12]
        return str(k)

    def conv(self, key):
        c = self.convs.get(key)
        if c is None:
            c = self.convs[key] = Conv(key)
        return c

    def next_turn(self, c: Conv, body, headers):
        prog = c.program or (
            None if c.script else self.default_program if c.key not in self.script.get("conversations", {}) else None
        )
        req = Req(c.key, body, c.index, c.state, headers)
        if prog:
            t = prog(req)
            return t if isinstance(t, dict) else {"text": str(t)}
        s = c.script or self.script.get("conversations", {}).get(c.key) or self.script.get("default")
        if not s:
            return {"text": "ok"}
        turns = s.get("turns") or [{"text": "ok"}]
        i = c.index
        if s.get("advance") == "assistant_messages":
            i = sum(1 for m in req.messages if m.get("role") == "assistant")
        if i < len(turns):
            t = turns[i]
            return t if isinstance(t, dict) else {"text": t}
        end = s.get("on_end", "last")
        if end == "error":
            return {"fault": {"kind": "status", "status": 410}}
        if end == "text":
            return {"text": "(script over)"}
        return turns[-1]

    def take_fault(self, c, turn):
        for q in (c.faults, self.faults):
            if q:
                f = q[0]
                f["times"] = f.get("times", 1) - 1
                if f["times"] <= 0:
                    q.popleft()
                return f
        f = turn.get("fault")
        if f:
            k = ("f", id(turn), c.index)
            used = c.state.get(k, 0)
            if used < f.get("times", 1):
                c.state[k] = used + 1
                return f
        return None

    # ---- stats
    def stats(self, conv=None):
        by = collections.defaultdict(list)
        for r in self.records:
            if conv is None or r["conv"] == conv:
                by[r["conv"]].append(r)
        out = {}
        for k, rs in by.items():
            ok = [r for r in rs if not r.get("fault_pre")]
            pre = [r for r in ok if r["prev_bytes"] is not None]
            sh = [r["prefix_bytes"] / r["prompt_bytes"] for r in pre if r["prompt_bytes"]]
            ret = [min(r["prefix_bytes"], r["prev_bytes"]) / r["prev_bytes"] for r in pre if r["prev_bytes"]]
            tot = sum(r["prompt_bytes"] for r in ok)
            new = sum(r["prompt_bytes"] - r["prefix_bytes"] for r in ok)
            gaps = [r["gap_ms"] for r in ok if r["gap_ms"] is not None]
            out[k] = {
                "requests": len(rs),
                "prompt_bytes_last": rs[-1]["prompt_bytes"],
                "n_messages_last": rs[-1]["n_messages"],
                "n_tools": rs[-1]["n_tools"],
                "stream": rs[-1]["stream"],
                # share of this prompt that is a prefix of the previous request (+ its reply)
                "share_min": min(sh) if sh else None,
                "share_mean": sum(sh) / len(sh) if sh else None,
                # share of the PREVIOUS prompt that was kept: 1.0 = append-only, nothing rewritten
                "retained_min": min(ret) if ret else None,
                "retained_mean": sum(ret) / len(ret) if ret else None,
                # share of the model's own last reply that came back unchanged (its KV is in the cache too)
                "reply_kept_mean": (lambda x: sum(x) / len(x) if x else None)(
                    [r["reply_kept"] for r in ok if r.get("reply_kept") is not None]
                ),
                "breaks": sum(
                    1 for x in ret if x < 0.95
                ),  # Claude Code's threshold: >5 % of the established prefix missed
                "prefill_bytes_total": tot,
                "prefill_bytes_uncached": new,
                "cache_hit_share": 1 - new / tot if tot else None,
                "first_prompt_bytes": rs[0]["prompt_bytes"],
                "body_bytes_total": sum(r["body_bytes"] for r in rs),
                "gap_ms": gaps,
                "server_ms_total": sum(r["serve_ms"] for r in rs),
                "cancelled": sum(1 for r in rs if r.get("cancelled")),
                "faults": [r["fault"] for r in rs if r.get("fault")],
            }
        return {"conversations": out, "counts": dict(self.counts), "requests": len(self.records)}


class Conn:
    """One HTTP/1.1 connection."""

    def __init__(self, core: Core, reader, writer):
        self.core, self.r, self.w = core, reader, writer
        self.push = b""

    async def run(self):
        try:
            sock = self.w.get_extra_info("socket")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                if not await self.one():
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass
        finally:
            with contextlib.suppress(Exception):
                self.w.close()

    async def one(self):
        head = await self.r.readuntil(b"\r\n\r\n")
        if self.push:
            head, self.push = self.push + head, b""
        t_in = perf()
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {}
        for ln in lines[1:]:
            if ln:
                k, _, v = ln.partition(":")
                headers[k.strip().lower()] = v.strip()
        body = b""
        if headers.get("expect", "").lower() == "100-continue":
            self.w.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "content-length" in headers:
            n = int(headers["content-length"])
            body = await self.r.readexactly(n) if n else b""
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while True:
                n = int((await self.r.readuntil(b"\r\n")).split(b";")[0], 16)
                d = await self.r.readexactly(n + 2)
                if n == 0:
                    break
                parts.append(d[:-2])
            body = b"".join(parts)
        path, _, query = target.partition("?")
        q = dict(urllib.parse.parse_qsl(query))
        keep = headers.get("connection", "").lower() != "close"
        core = self.core
        core.counts[method + " " + path] += 1
        try:
            if path.endswith("/chat/completions") and method == "POST":
                return await self.chat(headers, body, t_in) and keep
            if path.endswith("/embeddings") and method == "POST":
                b = json.loads(body)
                inp = b.get("input")
                inp = [inp] if isinstance(inp, str) else inp
                dim = int(b.get("dimensions") or 256)
                data = []
                for i, s in enumerate(inp):
                    v = embed(s if isinstance(s, str) else json.dumps(s), dim)
                    if b.get("encoding_format") == "base64":
                        v = base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode()
                    data.append({"object": "embedding", "index": i, "embedding": v})
                self.json(
                    {
                        "object": "list",
                        "data": data,
                        "model": core.model,
                        "usage": {"prompt_tokens": 1, "total_tokens": 1},
                    }
                )
            elif path.endswith("/models"):
                self.json(
                    {
                        "object": "list",
                        "data": [
                            {
                                "id": core.model,
                                "object": "model",
                                "created": 0,
                                "owned_by": "bench",
                                "max_model_len": 131072,
                            }
                        ],
                    }
                )
            elif path in ("/health", "/health_generate"):
                self.json({"status": "ok"})
            elif path in ("/get_model_info", "/model_info"):
                self.json({"model_path": core.model, "tokenizer_path": core.model, "is_generation": True})
            elif path in ("/get_server_info", "/server_info"):
                self.json(
                    {
                        "model_path": core.model,
                        "version": "0.0-scripted",
                        "internal_states": [{"last_gen_throughput": 0.0}],
                    }
                )
            elif path == "/__ctl/stats":
                self.json(core.stats(q.get("conv")))
            elif path == "/__ctl/requests":
                self.json(
                    [
                        r if q.get("bodies") else {k: v for k, v in r.items() if k != "body"}
                        for r in core.records
                        if not q.get("conv") or r["conv"] == q["conv"]
                    ]
                )
            elif path == "/__ctl/reset":
                core.convs.clear()
                core.records.clear()
                core.faults.clear()
                core.counts.clear()
                self.json({"ok": True})
            elif path == "/__ctl/script":
                b = json.loads(body)
                if b.get("conv"):
                    c = core.conv(b["conv"])
                    c.script, c.index, c.program = b, 0, None
                else:
                    core.script = b if "conversations" in b or "default" in b else {"default": b}
                    core.default_program = None
                self.json({"ok": True})
            elif path == "/__ctl/program":
                b = json.loads(body)
                p = load_program(b["program"])
                if b.get("conv"):
                    c = core.conv(b["conv"])
                    c.program, c.index = p, 0
                else:
                    core.default_program = p
                self.json({"ok": True})
            elif path == "/__ctl/fault":
                b = json.loads(body)
                (core.conv(b["conv"]).faults if b.get("conv") else core.faults).append(b)
                self.json({"ok": True})
            else:
                self.json({"error": {"message": "not found", "type": "invalid_request_error"}}, 404)
        except (ValueError, KeyError, TypeError) as e:
            self.json({"error": {"message": f"bad request: {e!r}", "type": "invalid_request_error"}}, 400)
        await self.w.drain()
        return keep

    def json(self, obj, status=200, extra=b""):
        b = json.dumps(obj).encode()
        self.w.write(
            b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n" % (status, len(b), extra)
            + b
        )

    # ------------------------------------------------------------ chat
    async def chat(self, headers, raw, t_in):
        core = self.core
        if core.strict_key and headers.get("authorization") != "Bearer " + core.strict_key:
            self.json(
                {"error": {"message": "invalid api key", "type": "authentication_error", "code": "invalid_api_key"}},
                401,
            )
            return True
        body = json.loads(raw)
        c = core.conv(core.conv_key(headers, body))
        c.n_requests += 1
        turn = core.next_turn(c, body, headers)
        fault = core.take_fault(c, turn)
        prompt = render_prompt(body)
        prev = c.last_prompt
        prev_full = None if prev is None else prev + c.last_reply
        pfx = lcp(prompt, prev_full) if prev is not None else 0
        stream = bool(body.get("stream"))
        rec = {
            "t": time.time(),
            "conv": c.key,
            "n": c.n_requests,
            "index": c.index,
            "stream": stream,
            "n_messages": len(body.get("messages") or ()),
            "n_tools": len(body.get("tools") or ()),
            "body_bytes": len(raw),
            "prompt_bytes": len(prompt),
            "prev_bytes": None if prev is None else len(prev),
            "prefix_bytes": pfx,
            "reply_kept": None if prev is None or not c.last_reply else max(0, pfx - len(prev)) / len(c.last_reply),
            "gap_ms": None if c.last_done is None else (t_in - c.last_done) * 1e3,
            "fault": fault and fault["kind"],
        }
        if core.keep_bodies:
            rec["body"] = body
        ok = True
        try:
            ok = await self.answer(body, c, turn, fault or {}, stream, rec)
        except ConnectionError:
            rec["cancelled"] = True
            ok = False
        finally:
            now = perf()
            c.last_done = now
            rec["serve_ms"] = (now - t_in) * 1e3
            if not rec.get("fault_pre"):
                c.last_prompt = prompt
            core.records.append(rec)
            if core.rec_file:
                core.rec_file.write(json.dumps(rec) + "\n")
        return ok

    async def answer(self, body, c, turn, fault, stream, rec):
        core, w = self.core, self.w
        kind = fault.get("kind")
        if kind in ("status", "html502", "ctx_overflow"):
            rec["fault_pre"] = True
            if kind == "html502":
                page = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
                w.write(
                    b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(page)
                    + page
                )
            elif kind == "ctx_overflow":
                self.json(
                    {
                        "error": {
                            "message": "This model's maximum context length is 131072 tokens. However, your messages resulted in 140000 tokens.",
                            "type": "invalid_request_error",
                            "code": "context_length_exceeded",
                        }
                    },
                    400,
                )
            else:
                st = int(fault.get("status", 500))
                ra = fault.get("retry_after")
                extra = b"" if ra is None else b"Retry-After: %s\r\n" % str(ra).encode()
                self.json(
                    {"error": {"message": fault.get("message", f"injected {st}"), "type": "injected", "code": st}},
                    st,
                    extra,
                )
            await w.drain()
            return True
        if kind == "slow_first":
            await self.sleep(float(fault.get("seconds", 5)))
        text = turn.get("text") or ""
        calls = [dict(x) for x in turn.get("tool_calls") or ()]
        if kind == "huge":
            text, calls = "x" * int(fault.get("bytes", 50_000_000)), []
        if kind == "unknown_tool":
            calls = [{"name": "no_such_tool_xyz", "arguments": {}}]
        if kind == "null_content":
            text, calls = "", []
        for j, tc in enumerate(calls):
            a = tc.get("arguments", {})
            tc["arguments"] = a if isinstance(a, str) else json.dumps(a)
            tc.setdefault("id", f"call_{c.key[-6:]}_{c.index}_{j}")
            if kind == "bad_tool_json":
                tc["arguments"] = tc["arguments"][:-1] + ',"x": tru'
        if kind == "dup_tool_id" and calls:
            calls = [calls[0], dict(calls[0])]
        fin = turn.get("finish_reason") or ("tool_calls" if calls else "stop")
        msg = {"role": "assistant", "content": text or (None if calls or kind == "null_content" else "")}
        if calls:
            msg["tool_calls"] = [
                {"id": t["id"], "type": "function", "function": {"name": t["name"], "arguments": t["arguments"]}}
                for t in calls
            ]
        if turn.get("reasoning"):
            msg["reasoning_content"] = turn["reasoning"]
        c.last_reply = render_message(msg).encode()
        pt, ct = rec["prompt_bytes"] // 4 + 1, (len(text) + sum(len(t["arguments"]) for t in calls)) // 4 + 1
        usage = {
            "prompt_tokens": pt,
            "completion_tokens": ct,
            "total_tokens": pt + ct,
            "prompt_tokens_details": {"cached_tokens": rec["prefix_bytes"] // 4},
        }
        rid = f"chatcmpl-{c.key[-8:]}-{c.n_requests}"
        base = {
            "id": rid,
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body.get("model") or core.model,
        }
        if turn.get("first_token_ms"):
            await self.sleep(turn["first_token_ms"] / 1e3)
        if not stream:
            out = json.dumps(
                {
                    **base,
                    "choices": [{"index": 0, "message": msg, "finish_reason": fin, "logprobs": None}],
                    "usage": usage,
                }
            ).encode()
            if kind == "malformed" or kind == "malformed_end":
                out = out[: len(out) // 2] + b"}}]"
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(out)
            if kind == "drop":
                w.write(head + out[: len(out) // 2])
                await w.drain()
                self.reset()
                return False
            w.write(head + out)
            rec["first_ms"] = 0
            c.index += 1
            await w.drain()
            return True
        # ---- streaming
        base["object"] = "chat.completion.chunk"
        pre = json.dumps(base)[:-1]
        n = max(1, int(turn.get("chunk_chars", 4)))

        def chunk(delta, fr=None):
            return (
                b"data: "
                + (
                    pre
                    + ', "choices": [{"index": 0, "delta": '
                    + json.dumps(delta, ensure_ascii=kind != "split_utf8")
                    + ', "finish_reason": '
                    + json.dumps(fr)
                    + "}]}\n\n"
                ).encode()
            )

        chunks = [chunk({"role": "assistant", "content": ""})]
        if turn.get("reasoning"):
            chunks += [
                chunk({"reasoning_content": turn["reasoning"][i : i + n]}) for i in range(0, len(turn["reasoning"]), n)
            ]
        if kind == "huge":
            n = 65536
        chunks += [chunk({"content": text[i : i + n]}) for i in range(0, len(text), n)]
        for j, t in enumerate(calls):
            chunks.append(
                chunk(
                    {
                        "tool_calls": [
                            {
                                "index": j,
                                "id": t["id"],
                                "type": "function",
                                "function": {"name": t["name"], "arguments": ""},
                            }
                        ]
                    }
                )
            )
            a = t["arguments"]
            m = max(n * 4, 16)
            chunks += [
                chunk({"tool_calls": [{"index": j, "function": {"arguments": a[i : i + m]}}]})
                for i in range(0, len(a), m)
            ]
        if kind != "no_done":
            chunks.append(chunk({}, fin))
            if (body.get("stream_options") or {}).get("include_usage"):
                chunks.append(b"data: " + (pre + ', "choices": [], "usage": ' + json.dumps(usage) + "}\n\n").encode())
            chunks.append(b"data: [DONE]\n\n")
        after = int(fault.get("after_chunks", 2))
        if kind in ("malformed", "malformed_end"):
            chunks.insert(min(after, len(chunks) - 1), b'data: {"id": "x", "choices": [{"delta": {"content": "oops\n\n')
            if kind == "malformed_end":
                del chunks[min(after, len(chunks) - 1) + 1 :]
        w.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        tps = turn.get("tps", core.tps) or 0
        t0 = perf()
        eof = asyncio.ensure_future(self.r.read(1))
        try:
            if not tps and kind not in ("drop", "stall", "split_utf8"):
                rec["first_ms"] = (perf() - t0) * 1e3
                buf, size = [], 0
                for ch in chunks:
                    buf.append(b"%x\r\n" % len(ch) + ch + b"\r\n")
                    size += len(ch)
                    if size > 65536:
                        w.write(b"".join(buf))
                        buf, size = [], 0
                        await w.drain()
                        if eof.done():
                            raise ConnectionError
                w.write(b"".join(buf) + b"0\r\n\r\n")
            else:
                for i, ch in enumerate(chunks):
                    if kind == "drop" and i == after:
                        await w.drain()
                        await asyncio.sleep(0.02)
                        self.reset()
                        return False
                    if kind == "stall" and i == after:
                        await self.sleep(float(fault.get("seconds", 30)), eof)
                    if tps and i:
                        dt = t0 + i / tps - perf()
                        if dt > 0:
                            await self.sleep(dt, eof)
                    if eof.done():
                        raise ConnectionError
                    if kind == "split_utf8":
                        k = max(1, len(ch) // 2)
                        bad = next((p for p in range(len(ch)) if ch[p] >= 0xC0), None)
                        k = bad + 1 if bad is not None else k
                        for part in (ch[:k], ch[k:]):
                            w.write(b"%x\r\n" % len(part) + part + b"\r\n")
                            await w.drain()
                            await asyncio.sleep(0.001)
                    else:
                        w.write(b"%x\r\n" % len(ch) + ch + b"\r\n")
                        await w.drain()
                    if i == 0:
                        rec["first_ms"] = (perf() - t0) * 1e3
                w.write(b"0\r\n\r\n")
            if kind not in ("malformed_end", "no_done"):
                c.index += 1
            await w.drain()
        except ConnectionError:
            rec["cancelled"] = True
            rec["cancelled_after_ms"] = (perf() - t0) * 1e3
            return False
        finally:
            if eof.done():
                if not eof.cancelled() and not eof.exception():
                    self.push = eof.result()
            else:
                eof.cancel()
                with contextlib.suppress(BaseException):
                    await eof
        return True

    async def sleep(self, dt, eof=None):
        if eof is None:
            await asyncio.sleep(dt)
        else:
            await asyncio.wait({eof}, timeout=dt)

    def reset(self):
        s = self.w.get_extra_info("socket")
        with contextlib.suppress(OSError):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.w.transport.abort()


async def serve(core, host="127.0.0.1", port=0, ready=None):
    async def on(r, w):
        await Conn(core, r, w).run()

    srv = await asyncio.start_server(on, host, port, limit=1 << 20, backlog=2048)
    p = srv.sockets[0].getsockname()[1]
    if ready:
        ready(p)
    async with srv:
        await srv.serve_forever()


class ModelServer:
    """Handle for tests: `with ModelServer(program="builtin:add_loop?n=20") as m: m.url ...` (own process)."""

    def __init__(self, *args, python=sys.executable, **kw):
        self.argv = [python, str(Path(__file__).resolve()), "--port", "0", *list(args)]
        for k, v in kw.items():
            if v is True:
                self.argv += ["--" + k.replace("_", "-")]
            elif v not in (None, False):
                self.argv += ["--" + k.replace("_", "-"), v if isinstance(v, str) else json.dumps(v)]

    def __enter__(self):
        self.p = subprocess.Popen(self.argv, stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.p.stdout.readline())["port"]
        self.root = f"http://127.0.0.1:{self.port}"
        self.url = self.root + "/v1"
        return self

    def __exit__(self, *a):
        self.p.terminate()
        self.p.wait(5)
        self.p.stdout.close()

    def ctl(self, what, body=None, **q):
        u = f"{self.root}/__ctl/{what}" + ("?" + urllib.parse.urlencode(q) if q else "")
        r = urllib.request.Request(
            u, data=None if body is None else json.dumps(body).encode(), method="GET" if body is None else "POST"
        )
        with urllib.request.urlopen(r, timeout=60) as f:
            return json.load(f)

    def stats(self, conv):
        return self.ctl("stats", conv=conv)["conversations"].get(conv)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--host", default="127.0.0.1")
    ap.add_argument("--port", type=int, default=8900)
    ap.add_argument("--script", help="JSON file or literal")
    ap.add_argument("--program")
    ap.add_argument("--tps", type=float, default=0)
    ap.add_argument("--record")
    ap.add_argument("--keep-bodies", action="store_true")
    ap.add_argument("--model", default=MODEL)
    ap.add_argument("--raw-args", action="store_true")
    ap.add_argument("--api-key", help="refuse other keys with 401")
    a = ap.parse_args()
    global RAW_ARGS
    RAW_ARGS = a.raw_args
    script = None
    if a.script:
        script = (
            json.loads(a.script)
            if a.script.lstrip().startswith("{")
            else json.loads(Path(a.script).read_text(encoding="utf-8"))
        )
    core = Core(script, a.program, a.tps, a.record, a.keep_bodies, model=a.model, strict_key=a.api_key)
    gc.freeze()

    def ready(p):
        print(json.dumps({"port": p, "pid": os.getpid()}), flush=True)

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(core, a.host, a.port, ready))


if __name__ == "__main__":
    main()
