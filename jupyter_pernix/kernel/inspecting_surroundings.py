"""The third part of what runs inside a Python kernel: in what surroundings it works. The text of this file is sent there; it imports
the standard library alone, and none of the packages that it tells of."""

from __future__ import annotations

import importlib.metadata
import json
import pathlib
import platform
import sys

_PACKAGES = (
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "scikit-learn",
    "statsmodels",
    "xgboost",
    "lightgbm",
    "matplotlib",
    "seaborn",
    "plotly",
    "altair",
    "bokeh",
    "torch",
    "transformers",
    "datasets",
    "accelerate",
    "jax",
    "tensorflow",
    "keras",
    "sglang",
    "vllm",
    "duckdb",
    "sqlalchemy",
    "dask",
    "pyspark",
    "xarray",
    "networkx",
    "sympy",
    "numba",
    "pillow",
    "opencv-python",
    "geopandas",
    "ipywidgets",
    "anywidget",
    "requests",
    "httpx",
    "beautifulsoup4",
    "pydantic",
    "pytest",
)


def surroundings() -> str:
    """JSON: ``cwd``, ``version`` of the language, ``interpreter`` (its path), ``packages`` (name → version, those installed)."""
    packages: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except Exception:  # not installed, or its metadata is damaged
            continue
    try:
        cwd = str(pathlib.Path.cwd())
    except OSError:  # it was deleted
        cwd = ""
    told = {"cwd": cwd, "version": platform.python_version(), "interpreter": sys.executable or "", "packages": packages}
    return json.dumps(told)
