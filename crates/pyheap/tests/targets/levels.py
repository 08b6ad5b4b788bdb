"""A level of so many objects that it is visited in parts, each of which leads on to objects of its own."""
import json
import sys

rows = [[f"text {n}", (f"deeper {n}",)] for n in range(300_000)]

print(json.dumps({"version": sys.version.split()[0], "rows": len(rows)}), flush=True)
sys.stdin.read()
