"""The second part of what runs inside a Python kernel to look at its variables: the classes of libraries, one variable, all variables.

It follows the rule of ``inspecting``, whose text is sent before this one's; both run in one namespace.
"""

# pyright: basic
# Strict has nothing to say where every value is of any class.

from __future__ import annotations

import itertools
import json
import sys
import time
import types
from typing import Any, Callable, Iterator  # noqa: UP035 - this also runs in kernels with an older Python

from .inspecting import (
    DEEPEST,
    HIDDEN,
    LONGEST_NAME,
    SIZED,
    base_of,
    exact,
    has_base,
    hides,
    is_of,
    is_one,
    library,
    mro_of,
    secret_text,
    text_of,
    type_name,
)

# ---- libraries ------------------------------------------------------------------------------------------------------------


def dtype_text(dtype: Any) -> str:
    """ "" for a dtype that is not one of numpy's or pandas's own: it may run anything."""
    if has_base(dtype, "numpy", "dtype"):
        return str(dtype)[:LONGEST_NAME]
    if is_of(dtype, "pandas", "CategoricalDtype"):
        return "category"
    if is_of(dtype, "pandas", "SparseDtype", "IntervalDtype", "PeriodDtype"):
        return type_name(dtype)
    if is_of(dtype, "pandas", "DatetimeTZDtype"):
        return f"datetime64[{dtype.unit}, tz]"
    if is_of(dtype, "pandas", "ArrowDtype"):
        return f"{_arrow_type(dtype.pyarrow_dtype)}[pyarrow]"
    sizes = [f"{kind}{bits}Dtype" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)]
    plain = is_of(dtype, "pandas", "StringDtype", "BooleanDtype", "Float32Dtype", "Float64Dtype", *sizes)
    return str(dtype) if plain else ""


def _arrow_type(kind: Any) -> str:
    """ "extension" for what may be the user's own."""
    own = has_base(kind, "pyarrow.lib", "BaseExtensionType") or not has_base(kind, "pyarrow.lib", "DataType")
    return "extension" if own else str(kind)[:LONGEST_NAME]


def _array_head(values: Any, most: int) -> list[Any] | None:
    """The first values of one column, ``None`` where getting them might run code that is not known."""
    if is_of(values, "numpy", "ndarray"):
        return list(values[:most].tolist())
    dtype = dtype_text(getattr(values, "dtype", None)) if _is_of_pandas_arrays(values) else ""
    if not dtype or dtype.endswith(", tz]") or dtype.startswith(("pandas.", "extension")):
        return None
    return list(values[:most])


def _is_of_pandas_arrays(values: Any) -> bool:
    names = (
        "DatetimeArray",
        "TimedeltaArray",
        "IntegerArray",
        "FloatingArray",
        "BooleanArray",
        "StringArray",
        "Categorical",
    )
    arrays = (*names, "NumpyExtensionArray", "ArrowExtensionArray", "ArrowStringArray", "PandasArray")
    return is_of(values, "pandas.core.arrays", *arrays) or is_of(values, "pandas", "Categorical")


# ---- one variable ---------------------------------------------------------------------------------------------------------


class Looking:
    """How much is told of each variable. ``detail``: the one that is asked for by its name."""

    def __init__(self, detail: bool) -> None:
        self.rows = 5 if detail else 0
        self.columns = 100 if detail else 10
        self.items = 20 if detail else 5
        self.longest = 2_000 if detail else 120

    def variable(self, name: str, value: Any) -> dict[str, Any]:
        """The fields of a ``records.Variable``."""
        told: dict[str, Any] = {"name": exact(name)[:LONGEST_NAME], "type": type_name(value)}
        if hides(name, value):
            return {**told, "hidden": True}
        try:
            told.update(self._known(value))
        except Exception as exc:  # a library that is not as this expects it; the variable is still told by its type
            told["preview"] = f"(cannot be looked at: {type_name(exc)})"
        preview = told.get("preview", "")
        if preview == HIDDEN:
            told = {"name": told["name"], "type": told["type"], "hidden": True}
        elif len(preview) > self.longest:
            told["preview"] = preview[: self.longest] + "…"
        return told

    def _known(self, value: Any) -> dict[str, Any]:
        base = base_of(value)
        if base is not None and not has_base(value, "numpy", "generic"):
            return self._own(value, base)
        if has_base(value, "numpy", "ndarray"):
            return self._ndarray(value)
        for module, names, look in self._looks():
            if is_of(value, module, *names):
                return look(value)
        if type(value) is types.FunctionType:
            code = value.__code__
            return {"preview": f"({', '.join(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])})"}
        text = text_of(value)
        return {} if text.startswith("<") else {"preview": text}

    def _looks(self) -> Iterator[tuple[str, tuple[str, ...], Callable[[Any], dict[str, Any]]]]:
        yield "pandas", ("DataFrame",), self._pandas
        yield "pandas", ("Series",), self._series
        indexes = ("Index", "RangeIndex", "MultiIndex", "DatetimeIndex", "TimedeltaIndex", "CategoricalIndex")
        yield "pandas", indexes, lambda index: {"length": len(index), "dtype": dtype_text(index.dtype)}
        yield "polars", ("DataFrame",), self._polars
        yield "polars", ("Series",), self._polars_series
        yield "pyarrow.lib", ("Table", "RecordBatch"), self._arrow
        yield "torch", ("Tensor",), self._tensor
        yield "torch.nn.parameter", ("Parameter",), self._tensor
        yield "jaxlib._jax", ("ArrayImpl",), self._shaped
        yield "jaxlib.xla_extension", ("ArrayImpl",), self._shaped
        sparse = tuple(f"{kind}_{what}" for kind in ("csr", "csc", "coo", "bsr") for what in ("matrix", "array"))
        yield "scipy.sparse", sparse, self._shaped

    def _own(self, value: Any, base: Any) -> dict[str, Any]:
        told: dict[str, Any] = {"preview": text_of(value)}
        if is_one(base, SIZED):
            told["length"] = (
                base.__len__(value) if base is not range else len(value) if value.stop < sys.maxsize else None
            )
            told["size_bytes"] = base.__sizeof__(value)
        return told

    def _ndarray(self, value: Any) -> dict[str, Any]:
        array = library("numpy", "ndarray")
        dtype = array.dtype.__get__(value)
        told: dict[str, Any] = {
            "shape": list(array.shape.__get__(value)),
            "dtype": dtype_text(dtype),
            "size_bytes": array.nbytes.__get__(value),
        }
        names = dtype.names
        if names is not None:
            columns = [(name, dtype.fields[name][0]) for name in names[: self.columns]]
            told.update(self._schema([(name, dtype_text(kind)) for name, kind in columns], len(names)))
        elif is_of(value, "numpy", "ndarray", "memmap"):
            told["preview"] = self._list(value.flat[: self.items].tolist(), value.size)
        return told

    def _list(self, values: list[Any], length: int) -> str:
        more = ", …" if length > len(values) else ""
        return f"[{', '.join(text_of(one, DEEPEST - 1) for one in values)}{more}]"

    def _schema(self, columns: list[tuple[Any, str]], width: int) -> dict[str, Any]:
        told = [{"name": _label(name), "dtype": dtype} for name, dtype in columns]
        return {"columns": told, "more_columns": width - len(told)}

    def _table(self, names: list[Any], heads: list[list[Any] | None]) -> str:
        """The first rows, one a line; a column whose values are not shown is left out."""
        shown = [(name, head) for name, head in zip(names, heads) if head is not None]  # noqa: B905 - see above
        if not shown or not shown[0][1]:
            return ""
        lines = [" | ".join(_label(name) for name, _ in shown)]
        for row in range(len(shown[0][1])):
            cells = [HIDDEN if hides(_label(name), head[row]) else text_of(head[row], 1)[:60] for name, head in shown]
            lines.append(" | ".join(cells))
        return "\n".join(lines)

    def _pandas(self, value: Any) -> dict[str, Any]:
        # Not through the frame: it copies ``attrs``, which may hold anything, with every slice.
        manager = object.__getattribute__(value, "_mgr")
        rows, width = value.shape
        dtypes = manager.get_dtypes()[: self.columns]
        names = [value.columns[at] for at in range(len(dtypes))]
        told: dict[str, Any] = {
            "shape": [rows, width],
            "size_bytes": sum(_bytes_of(block.values) for block in manager.blocks),
        }
        told.update(self._schema([(name, dtype_text(dtype) or "?") for name, dtype in zip(names, dtypes)], width))  # noqa: B905
        if self.rows:
            arrays = [manager.iget_values(at) for at in range(min(20, len(names)))]
            told["preview"] = self._table(names, [_array_head(array, self.rows) for array in arrays])
        return told

    def _series(self, value: Any) -> dict[str, Any]:
        values = object.__getattribute__(value, "_mgr").blocks[0].values
        head = _array_head(values, self.items)
        preview = "" if head is None else self._list(head, len(values))
        length = len(values)
        return {
            "length": length,
            "dtype": dtype_text(values.dtype),
            "size_bytes": _bytes_of(values),
            "preview": preview,
        }

    def _polars(self, value: Any) -> dict[str, Any]:
        columns = [
            (name, str(kind)[:LONGEST_NAME]) for name, kind in itertools.islice(value.schema.items(), self.columns)
        ]
        told: dict[str, Any] = {"shape": [value.height, value.width], "size_bytes": int(value.estimated_size())}
        told.update(self._schema(list(columns), value.width))
        if self.rows:
            series = value.head(self.rows).get_columns()[:20]
            told["preview"] = self._table([one.name for one in series], [one.to_list() for one in series])
        return told

    def _polars_series(self, value: Any) -> dict[str, Any]:
        preview = self._list(value.head(self.items).to_list(), value.len())
        size = int(value.estimated_size())
        return {"length": value.len(), "dtype": str(value.dtype), "size_bytes": size, "preview": preview}

    def _arrow(self, value: Any) -> dict[str, Any]:
        schema, width = value.schema, value.num_columns
        kinds = [schema.field(at).type for at in range(min(width, self.columns))]
        names = [schema.field(at).name for at in range(len(kinds))]
        told: dict[str, Any] = {"shape": [value.num_rows, width], "size_bytes": value.get_total_buffer_size()}
        told.update(self._schema([(name, _arrow_type(kind)) for name, kind in zip(names, kinds)], width))  # noqa: B905
        if self.rows:
            plain = [
                at for at, kind in enumerate(kinds[:20]) if kind.num_fields == 0 and _arrow_type(kind) != "extension"
            ]
            head = value.slice(0, self.rows)
            told["preview"] = self._table([names[at] for at in plain], [head.column(at).to_pylist() for at in plain])
        return told

    def _tensor(self, value: Any) -> dict[str, Any]:
        told: dict[str, Any] = {
            "shape": list(value.shape),
            "dtype": f"{value.dtype} on {value.device}",
            "size_bytes": value.numel() * value.element_size(),
        }
        if value.device.type == "cpu" and str(value.layout) == "torch.strided" and value.numel() <= 1_000_000:
            told["preview"] = self._list(value.detach().reshape(-1)[: self.items].tolist(), value.numel())
        return told

    def _shaped(self, value: Any) -> dict[str, Any]:
        """Only what is known without computing or copying anything from a device."""
        return {"shape": list(value.shape), "dtype": dtype_text(value.dtype)}


def _label(name: Any) -> str:
    if type(name) is str:
        return HIDDEN if secret_text(name) else exact(name)[:LONGEST_NAME]
    return text_of(name, 1)[:LONGEST_NAME]


def _bytes_of(values: Any) -> int:
    return int(values.nbytes) if is_of(values, "numpy", "ndarray") or _is_of_pandas_arrays(values) else 0


# ---- all variables --------------------------------------------------------------------------------------------------------

_NOT_DATA = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)
_UNNAMED = ("In", "Out", "exit", "quit", "get_ipython", "open")


def _is_data(value: Any) -> bool:
    mro = mro_of(type(value))
    return not any(kind is one for kind in mro for one in _NOT_DATA)


def look(namespace: dict[str, Any], initial: dict[str, Any], names: list[str] | None, most: int, seconds: float) -> str:
    """JSON of the user's variables: ``total`` of them, and ``variables`` (fields of ``records.Variable``), the last defined first.
    ``initial``: what is in the namespace from the start. Without ``names``: data only, in short, ``most`` of them; what is not
    reached within ``seconds`` is told by name and type alone. With ``names``: those of them that exist, whatever they are."""
    every = dict.copy(namespace)
    if names is not None:
        found = [(name, every[name]) for name in names[:most] if name in every]
        return _encode(len(every), [Looking(detail=True).variable(name, value) for name, value in found])
    users = [
        (name, value)
        for name, value in every.items()
        if type(name) is str and name[:1] != "_" and name not in _UNNAMED and _is_data(value)
    ]
    users = [(name, value) for name, value in users if name not in initial or initial[name] is not value]
    users.reverse()
    until, looking = time.monotonic() + seconds, Looking(detail=False)
    told = [
        looking.variable(name, value) if time.monotonic() < until else {"name": exact(name), "type": type_name(value)}
        for name, value in users[:most]
    ]
    return _encode(len(users), told)


def _encode(total: int, variables: list[dict[str, Any]]) -> str:
    return json.dumps({"total": total, "variables": variables})
