"""Run in a kernel by ``test_inspection.py``: values whose every method, property and metaclass leaves a trace and does harm."""

import datetime
import pathlib
import time

import numpy
import pandas

TRACES: list[str] = []
_ARMED = False


def _harm(name):
    def harm(*args, **kwargs):
        if _ARMED:
            TRACES.append(name)
            pathlib.Path("victim").unlink(missing_ok=True)
            time.sleep(30)
            raise SystemExit(name)
        if name == "__hash__":
            return 7
        raise RuntimeError(name)

    return harm


_NAMES = [
    "__repr__",
    "__str__",
    "__len__",
    "__iter__",
    "__next__",
    "__getitem__",
    "__getattr__",
    "__getattribute__",
    "__eq__",
    "__ne__",
    "__hash__",
    "__bool__",
    "__sizeof__",
    "__dir__",
    "__format__",
    "__bytes__",
    "__index__",
    "__int__",
    "__float__",
    "__complex__",
    "__array__",
    "__call__",
    "__contains__",
    "__lt__",
    "__reduce_ex__",
    "__copy__",
    "__deepcopy__",
    "__fspath__",
    "__enter__",
    "__abs__",
    "__length_hint__",
    "__instancecheck__",
    "__subclasscheck__",
    "__array_finalize__",
    "__array_ufunc__",
    "__array_function__",
    "keys",
    "items",
    "values",
    "tolist",
    "head",
    "shape",
    "dtype",
    "nbytes",
    "columns",
    "isoformat",
    "utcoffset",
    "tzname",
    "_repr_html_",
    "_repr_mimebundle_",
    "_repr_pretty_",
    "_ipython_display_",
]


class Meta(type):
    """Whoever asks a class of it for anything, runs code."""

    __mro__ = property(_harm("Meta.__mro__"))
    __name__ = property(_harm("Meta.__name__"))  # type: ignore
    __bases__ = property(_harm("Meta.__bases__"))  # type: ignore
    __dict__ = property(_harm("Meta.__dict__"))  # type: ignore


class Evil(metaclass=Meta):
    pass


class EvilStr(str, metaclass=Meta):
    pass


class EvilBytes(bytes):
    pass


class EvilInt(int):
    pass


class EvilFloat(float):
    pass


class EvilList(list):
    pass


class EvilTuple(tuple):
    pass


class EvilDict(dict):
    pass


class EvilSet(set):
    pass


class Slotted:
    __slots__ = ("value",)


class WithProperties:
    @property
    def __class__(self):
        return _harm("__class__")()

    @property
    def __dict__(self):
        return _harm("__dict__")()

    @property
    def __module__(self):
        return _harm("__module__")()


class EvilZone(datetime.tzinfo):
    def utcoffset(self, when):
        return _harm("utcoffset")() if _ARMED else datetime.timedelta(0)


class EvilArray(numpy.ndarray):
    pass


class EvilFrame(pandas.DataFrame):
    pass


class DataFrame:
    __module__ = "pandas"


DataFrame.__qualname__ = "DataFrame"

evil = Evil()
evil_class_instance = WithProperties()
evil_slotted = Slotted()
evil_str = EvilStr("a text")
evil_bytes = EvilBytes(b"raw")
evil_int = EvilInt(5)
evil_float = EvilFloat(1.5)
evil_list = EvilList([1, evil])
evil_tuple = EvilTuple((1, evil))
evil_dict = EvilDict(k=evil)
evil_keys = {evil: 1}
evil_set = EvilSet([1])
evil_array = numpy.arange(3).view(EvilArray)
evil_objects = numpy.array([evil, evil_str, 1], dtype=object)
evil_frame = pandas.DataFrame({"a": pandas.Series([evil], dtype=object), "b": [1]})
evil_frame.columns = pandas.Index([evil, "b"], dtype=object)
evil_frame.attrs["evil"] = []
evil_series = pandas.Series([evil], dtype=object)
evil_subframe = EvilFrame({"a": [1]})
evil_subframe_attrs = pandas.DataFrame({"a": [1]})
evil_subframe_attrs.attrs["x"] = evil
evil_time = datetime.datetime(2026, 1, 1, tzinfo=EvilZone())
evil_times = [evil_time, EvilStr("inside"), {EvilStr("key"): evil}]
evil_generator = (_harm("generator")() for _ in [1])
impostor = DataFrame()

_EVIL = {
    "Evil": Evil,
    "EvilStr": EvilStr,
    "EvilBytes": EvilBytes,
    "EvilInt": EvilInt,
    "EvilFloat": EvilFloat,
    "EvilList": EvilList,
    "EvilTuple": EvilTuple,
    "EvilDict": EvilDict,
    "EvilSet": EvilSet,
    "EvilArray": EvilArray,
    "EvilFrame": EvilFrame,
    "DataFrame": DataFrame,
}
for _class_name, _class in _EVIL.items():
    for _name in _NAMES:
        setattr(_class, _name, _harm(f"{_class_name}.{_name}"))
for _name in _NAMES:
    setattr(Meta, _name, _harm(f"Meta.{_name}"))
type.__setattr__(Meta, "__module__", property(_harm("Meta.__module__")))
_ARMED = True
