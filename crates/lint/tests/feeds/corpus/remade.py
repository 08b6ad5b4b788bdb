#? inner: module:train.py outs [] = list
#? deleted: module:train.py kept [] = list
#? seeded: module:train.py seeded = list
#? shared: instance:train.py:Log .rows = list
#? grown: module:train.py grown = list
#? rounds: module:train.py rounds = list
#? never: module:train.py never = list
#? once: module:train.py once [] = list
class Log:
    def __init__(self):
        self.rows = []


log = Log()
rounds, never = [], []
once = {"audio": []}
grown = [0]
for epoch in range(9):
    outs = {"audio": [], "video": []}
    table = {"rows": log.rows}
    kept = dict(audio=[])
    seeded = [epoch]
    grown = [grown, 1]
    for x in range(9):
        outs["audio"].append(x)  # <- inner bounded
        kept["audio"].append(x)  # <- deleted bounded
        seeded.append(x)  # <- seeded bounded
        table["rows"].append(x)  # <- shared
        grown.append(x)  # <- grown
        once["audio"].append(x)  # <- once
        rounds.append(x)  # <- rounds bounded
        if epoch % 3 == 2:
            rounds.clear()
        never.append(x)  # <- never maybe
        if epoch == 5000:
            never.clear()
    del kept
