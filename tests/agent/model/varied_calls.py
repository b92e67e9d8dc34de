"""Ways in which servers and chat templates vary calls: in their own field, and written into the text."""

from agent.model.varied import ARGS, ARGS_B, END, TAG, A, B, Case, call, delta, said, sse

from jupyter_pernix.errors import StreamBroken

CALLS = {
    "the index missing, ids given": Case(
        sse(
            call("", name="read_file", id="x"),
            call(ARGS, id="x"),
            call("", name="read_file", id="y"),
            call(ARGS_B, id="y"),
            END,
        ),
        calls=[A, B],
    ),
    "the index as a string": Case(
        sse(
            call("", name="read_file", index="0", id="x"),
            call(ARGS, index="0"),
            call("", name="read_file", index="1", id="y"),
            call(ARGS_B, index="1"),
            END,
        ),
        calls=[A, B],
    ),
    "string indexes, interleaved": Case(
        sse(
            call("", name="read_file", index="0", id="x"),
            call("", name="read_file", index="1", id="y"),
            call(ARGS[:5], index="0"),
            call(ARGS_B[:5], index="1"),
            call(ARGS[5:], index="0"),
            call(ARGS_B[5:], index="1"),
            END,
        ),
        calls=[A, B],
    ),
    "the index always 0": Case(
        sse(call(ARGS, name="read_file", index=0, id="x"), call(ARGS_B, name="read_file", index=0, id="y"), END),
        calls=[A, B],
    ),
    "two calls at one index in pieces": Case(
        sse(
            call("", name="read_file", index=0, id="x"),
            call(ARGS, index=0),
            call("", name="read_file", index=0, id="y"),
            call(ARGS_B, index=0),
            END,
        ),
        calls=[A, B],
    ),
    "indexes that begin at 1": Case(
        sse(call(ARGS, name="read_file", index=1, id="x"), call(ARGS_B, name="read_file", index=2, id="y"), END),
        calls=[A, B],
    ),
    "arguments as an object": Case(sse(call({"path": "a.txt"}, name="read_file", index=0, id="x"), END), calls=[A]),
    "arguments as an object, sent twice": Case(
        sse(
            call({"path": "a.txt"}, name="read_file", index=0, id="x"),
            call({"path": "a.txt"}, name="read_file", index=0, id="x"),
            END,
        ),
        calls=[A],
    ),
    "arguments whole again in the last chunk": Case(
        sse(
            call("", name="read_file", index=0, id="x"),
            call(ARGS[:9], index=0),
            call(ARGS[9:], index=0),
            call(ARGS, name="read_file", index=0, id="x", finish="tool_calls"),
        ),
        calls=[A],
    ),
    "the id in each chunk": Case(
        sse(
            call("", name="read_file", index=0, id="x"),
            call(ARGS[:9], index=0, id="x"),
            call(ARGS[9:], index=0, id="x"),
            END,
        ),
        calls=[A],
    ),
    "the id null, then empty": Case(
        sse(call("", name="read_file", index=0, id=None), call(ARGS, index=0, id=""), END), calls=[A]
    ),
    "the id a number": Case(sse(call(ARGS, name="read_file", index=0, id=17), END), calls=[A]),
    "the name in three pieces": Case(
        sse(
            call("", name="rea", index=0, id="x"),
            call("", name="d_fi", index=0),
            call("", name="le", index=0),
            call(ARGS, index=0),
            END,
        ),
        calls=[A],
    ),
    "the name growing": Case(
        sse(call("", name="read", index=0, id="x"), call("", name="read_file", index=0), call(ARGS, index=0), END),
        calls=[A],
    ),
    "the name repeated and null": Case(
        sse(
            call("", name="read_file", index=0, id="x"),
            call(ARGS[:9], name="read_file", index=0),
            call(ARGS[9:], index=0),
            END,
        ),
        calls=[A],
    ),
    "the legacy function_call": Case(
        sse(
            delta(function_call={"name": "read_file", "arguments": ""}),
            delta(function_call={"arguments": ARGS[:9]}),
            delta(function_call={"arguments": ARGS[9:]}),
            delta("function_call"),
        ),
        calls=[A],
    ),
    "one call as an object in place of the list": Case(
        sse(delta(tool_calls={"index": 0, "id": "x", "function": {"name": "read_file", "arguments": ARGS}}), END),
        calls=[A],
    ),
    "the function's fields beside the id": Case(
        sse(delta(tool_calls=[{"index": 0, "id": "x", "name": "read_file", "arguments": ARGS}]), END), calls=[A]
    ),
    "arguments under the name parameters": Case(
        sse(
            delta(
                tool_calls=[{"index": 0, "id": "x", "function": {"name": "read_file", "parameters": {"path": "a.txt"}}}]
            ),
            END,
        ),
        calls=[A],
    ),
    "a call in a message and not in a delta": Case(
        sse(
            {
                "choices": [
                    {
                        "index": 0,
                        "message": {
                            "content": None,
                            "tool_calls": [{"id": "x", "function": {"name": "read_file", "arguments": ARGS}}],
                        },
                        "finish_reason": "tool_calls",
                    }
                ]
            }
        ),
        calls=[A],
    ),
    "the name with a namespace": Case(sse(call(ARGS, name="functions.read_file", index=0, id="x"), END), calls=[A]),
    "the name with a number behind it": Case(
        sse(call(ARGS, name="functions.read_file:0", index=0, id="x"), END), calls=[A]
    ),
    "the name with the template's mark": Case(
        sse(call(ARGS, name="read_file<|channel|>commentary", index=0, id="x"), END), calls=[A]
    ),
    "two calls, each whole in one chunk": Case(
        sse(
            delta(
                tool_calls=[
                    {"index": 0, "id": "x", "function": {"name": "read_file", "arguments": ARGS}},
                    {"index": 1, "id": "y", "function": {"name": "read_file", "arguments": ARGS_B}},
                ]
            ),
            END,
        ),
        calls=[A, B],
    ),
    "a call without arguments": Case(sse(call(name="list_files", index=0, id="x"), END), calls=[("list_files", {})]),
    "arguments null": Case(
        sse(delta(tool_calls=[{"index": 0, "id": "x", "function": {"name": "list_files", "arguments": None}}]), END),
        calls=[("list_files", {})],
    ),
    "arguments the word null": Case(
        sse(call("null", name="list_files", index=0, id="x"), END), calls=[("list_files", {})]
    ),
}

WRITTEN = {
    "Hermes": Case(said(f"<tool_call>\n{TAG}\n</tool_call>"), calls=[A]),
    "Hermes, two in a row": Case(
        said(f"<tool_call>\n{TAG}\n</tool_call>\n<tool_call>\n{TAG.replace('a.txt', 'b.txt')}\n</tool_call>"),
        calls=[A, B],
    ),
    "Hermes behind a sentence": Case(said(f"I will look.\n<tool_call>{TAG}</tool_call>"), "I will look.", calls=[A]),
    "Llama 3.1 JSON": Case(said('{"name": "read_file", "parameters": {"path": "a.txt"}}'), calls=[A]),
    "Llama 3.1 with its tag": Case(
        said('<|python_tag|>{"name": "read_file", "parameters": {"path": "a.txt"}}<|eom_id|>'), calls=[A]
    ),
    "Llama 3.2 pythonic": Case(said('[read_file(path="a.txt"), read_file(path="b.txt")]'), calls=[A, B]),
    "Llama function tag": Case(said('<function=read_file>{"path": "a.txt"}</function>'), calls=[A]),
    "Mistral": Case(said(f"[TOOL_CALLS][{TAG}]"), calls=[A]),
    "Mistral v11": Case(said('[TOOL_CALLS]read_file[ARGS]{"path": "a.txt"}'), calls=[A]),
    "Mistral v11, two": Case(
        said('[TOOL_CALLS]read_file[ARGS]{"path": "a.txt"}[TOOL_CALLS]read_file[CALL_ID]abc[ARGS]{"path": "b.txt"}'),
        calls=[A, B],
    ),
    "DeepSeek": Case(
        said(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
            '{"path": "a.txt"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
        calls=[A],
    ),
    "DeepSeek V3.1, two": Case(
        said(
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.txt"}<｜tool▁call▁end｜>'
            '<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "b.txt"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
        calls=[A, B],
    ),
    "DeepSeek DSML": Case(
        said(
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">a.txt'
            '</｜DSML｜parameter>\n<｜DSML｜parameter name="first" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'
        ),
        calls=[("read_file", {"path": "a.txt", "first": 3})],
    ),
    "Qwen XML": Case(
        said(
            "<tool_call>\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=first>\n3\n</parameter>\n</function>\n</tool_call>"
        ),
        calls=[("read_file", {"path": "a.txt", "first": 3})],
    ),
    "Qwen XML whose first tag is missing": Case(
        said(
            "<function=run_code>\n<parameter=code>\nif a < 3:\n    print('<x>')\n</parameter>\n</function>\n</tool_call>"
        ),
        calls=[("run_code", {"code": "if a < 3:\n    print('<x>')"})],
    ),
    "Kimi": Case(
        said(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
            '{"path": "a.txt"}<|tool_call_end|><|tool_calls_section_end|>'
        ),
        calls=[A],
    ),
    "GLM": Case(
        said(
            "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n<arg_key>first</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"
        ),
        calls=[("read_file", {"path": "a.txt", "first": 3})],
    ),
    "gpt-oss harmony": Case(
        said(
            "<|channel|>analysis<|message|>I should look.<|end|><|start|>assistant<|channel|>commentary to=functions.read_file "
            '<|constrain|>json<|message|>{"path": "a.txt"}<|call|>'
        ),
        thought="I should look.",
        calls=[A],
    ),
    "gpt-oss harmony, final": Case(
        said(
            "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>It is 4.<|return|>"
        ),
        "It is 4.",
        "Easy.",
    ),
    "Functionary": Case(
        said('<function=read_file>{"path": "a.txt"}</function><function=read_file>{"path": "b.txt"}</function>'),
        calls=[A, B],
    ),
    "Functionary v3": Case(said('>>>read_file\n{"path": "a.txt"}'), calls=[A]),
    "Granite": Case(said(f"<|tool_call|>[{TAG}]"), calls=[A]),
    "Command R": Case(
        said(
            '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "a.txt"}}]<|END_ACTION|>'
        ),
        calls=[A],
    ),
    "MiniMax": Case(
        said(
            '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.txt</parameter>\n</invoke>\n</minimax:tool_call>'
        ),
        calls=[A],
    ),
    "Claude's XML": Case(
        said(
            '<function_calls>\n<invoke name="read_file">\n<parameter name="path">a.txt</parameter>\n</invoke>\n</function_calls>'
        ),
        calls=[A],
    ),
    "xLAM": Case(said(f"[{TAG}]"), calls=[A]),
    "Phi-4": Case(
        said(
            '<|tool_call|>[{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}}]<|/tool_call|>'
        ),
        calls=[A],
    ),
    "a pythonic list in prose stays prose": Case(
        said('Call it like [read_file(path="a.txt")] if you want.'),
        'Call it like [read_file(path="a.txt")] if you want.',
    ),
    "a call of no tool stays prose": Case(said('[open(path="a.txt")]'), '[open(path="a.txt")]'),
    "an invoke tag in a fence stays prose": Case(
        said('So:\n```xml\n<function_calls>\n<invoke name="read_file"></invoke>\n</function_calls>\n```'),
        'So:\n```xml\n<function_calls>\n<invoke name="read_file"></invoke>\n</function_calls>\n```',
    ),
    "DeepSeek cut off": Case(
        said('<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.t'), error=StreamBroken
    ),
    "Kimi cut off": Case(
        said('<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path"'),
        error=StreamBroken,
    ),
    "the tag of the template behind the answer": Case(said("It is 4.<|im_end|>"), "It is 4."),
}
