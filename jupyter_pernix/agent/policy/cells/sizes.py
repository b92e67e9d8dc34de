"""Sizes that a cell writes down and that no machine has, and loops that nothing ends."""

import ast
import math

_MANY = 9.0
"""Decimal digits of a number of things that is taken for a mistake: 10⁹."""

_ARRAYS = ("zeros", "ones", "empty", "full", "random", "rand", "randn")
_ROWS = ("bytearray", "bytes", "arange")


def is_huge(node: ast.BinOp) -> bool:
    """A text or list a billion times over, or a power whose digits nobody can store."""
    if isinstance(node.op, ast.Pow):
        exponent = digits(node.right)
        base = digits(node.left)
        return exponent is not None and base is not None and base > 0 and exponent + math.log10(max(base, 1e-9)) > _MANY
    if isinstance(node.op, ast.Mult):
        for things, times in ((node.left, node.right), (node.right, node.left)):
            if (isinstance(things, ast.Constant) and isinstance(things.value, str | bytes)) or isinstance(
                things, ast.List
            ):
                return (digits(times) or 0) >= _MANY
    return False


def is_huge_call(node: ast.Call) -> bool:
    """A list of a billion numbers, or as many bytes or cells of an array, made at once."""
    name = (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )
    if not node.args:
        return False
    first = node.args[0]
    match first:
        case ast.Call(func=ast.Name(id="range"), args=[*_, _]) if name in ("list", "tuple", "set", "sorted"):
            return max((digits(one) or 0) for one in first.args) >= _MANY
        case ast.Tuple(elts=sizes) if name in _ARRAYS:
            return sum((digits(one) or 0) for one in sizes) >= _MANY
        case _ if name in ("rand", "randn") and len(node.args) > 1:
            return sum((digits(one) or 0) for one in node.args) >= _MANY
        case _:
            return name in (*_ARRAYS, *_ROWS) and (digits(first) or 0) >= _MANY


def digits(node: ast.expr) -> float | None:
    """The decimal logarithm of a positive number that is written as a product or power of literals."""
    match node:
        case ast.Constant(value=int(number)) if number > 0 and not isinstance(number, bool):
            return math.log10(number) if number.bit_length() < 1000 else number.bit_length() * 0.30103
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = digits(left), digits(right)
            return None if one is None or other is None else one + other
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            one, other = digits(left), digits(right)
            return None if one is None or other is None else one * 10 ** min(other, 300.0)
        case _:
            return None


def is_endless(node: ast.While) -> bool:
    """``while True`` without a way out, or one that starts processes."""
    if not (isinstance(node.test, ast.Constant) and node.test.value):
        return False
    inside = [child for statement in node.body for child in ast.walk(statement)]
    if any(isinstance(one, ast.Attribute) and one.attr in ("fork", "Popen") for one in inside):
        return True
    return not any(isinstance(one, ast.Break | ast.Return | ast.Raise | ast.Yield | ast.Await) for one in inside)
