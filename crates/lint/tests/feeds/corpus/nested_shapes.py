#? adapter: module:train.py adapter_outs [] = list
#? sample: instance:train.py:Samples .samples [] = dict
#? twice: module:train.py tree [] [] = list
#? zipped: module:train.py pair [] = list
#? display: module:train.py state [] = list
#? store: module:train.py inner = list
adapter_outs = {"audio": [], "text": []}
tree = {"a": {"b": []}}
pair = [[], []]
inner = []
state = {"rows": inner}
outer = []
outer.append(inner)


class Samples:
    def __init__(self):
        self.samples = [{"x": i} for i in range(10)]

    def to(self, device):
        for s in self.samples:
            for key in ("x", "y"):
                s[key + device] = s[key]  # <- sample


def put(node, value):
    node["b"].append(value)  # <- twice


samples = Samples()
for step in range(10):
    adapter_outs["audio"].append(step)  # <- adapter
    put(tree["a"], step)
    for rows, value in zip(pair, [1, 2]):
        rows.append(value)  # <- zipped
    state["rows"].append(step)  # <- display # <- store
    outer[0].append(step)  # <- store # <- display
    samples.to("cpu")
