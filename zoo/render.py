"""Renders the programs for who reads source: two files each, NAME.leak.py and NAME.fixed.py, with `z.leak` folded to True or
False and nothing left that tells the answer: no comment, no docstring, no branch that is never taken, no word to the judge.

    python3 zoo/render.py FOLDER [--only 10,22]
"""

import argparse
import ast
from pathlib import Path

HERE = Path(__file__).parent


class Fold(ast.NodeTransformer):
    """Puts a constant in the place of `z.leak` and takes away what it decides."""

    def __init__(self, leak):
        self.leak = leak

    def visit_Attribute(self, node):
        if node.attr == "leak" and isinstance(node.value, ast.Name) and node.value.id == "z":
            return ast.copy_location(ast.Constant(self.leak), node)
        return self.generic_visit(node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and is_bool(node.operand):
            return ast.copy_location(ast.Constant(not node.operand.value), node)
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        ends = isinstance(node.op, ast.Or)
        values = []
        for value in node.values:
            if not is_bool(value):
                values.append(value)
            elif value.value == ends:
                values.append(value)
                break
        if not values:
            return ast.copy_location(ast.Constant(not ends), node)
        if len(values) == 1 or is_bool(values[0]):
            return values[0]
        return ast.copy_location(ast.BoolOp(node.op, values), node)

    def visit_IfExp(self, node):
        self.generic_visit(node)
        if is_bool(node.test):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node):
        self.generic_visit(node)
        if is_bool(node.test):
            return (node.body if node.test.value else node.orelse) or []
        node.body = node.body or [ast.Pass()]
        return node

    def visit_Expr(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return []
        call = node.value
        told = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "keep"
        if told and isinstance(call.func.value, ast.Name) and call.func.value.id == "z":
            return []
        return node

    def visit_Assign(self, node):
        self.generic_visit(node)
        told = [target for target in node.targets if isinstance(target, ast.Attribute) and target.attr == "retained"]
        return [] if told and isinstance(told[0].value, ast.Name) and told[0].value.id == "z" else node


def is_bool(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def fill(tree):
    """`pass` where a body has become empty."""
    for node in ast.walk(tree):
        if isinstance(getattr(node, "body", None), list) and not node.body and not isinstance(node, ast.Module):
            node.body = [ast.Pass()]


def render(text, leak):
    """The program as it is with `z.leak` True or False."""
    tree = Fold(leak).visit(ast.parse(text))
    fill(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def programs(only=()):
    """The programs of the zoo, those of these numbers where there are any."""
    return [path for path in sorted(HERE.glob("[0-9][0-9]_*.py")) if not only or path.name[:2] in only]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="numbers, with commas between")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    (args.folder / "zoolib.py").write_text((HERE / "zoolib.py").read_text())
    for path in programs([number for number in args.only.split(",") if number]):
        for name, leak in (("leak", True), ("fixed", False)):
            (args.folder / f"{path.stem}.{name}.py").write_text(render(path.read_text(), leak))


if __name__ == "__main__":
    main()
