#? history: module:train.py history = History@train.py:History
#? table: module:train.py table = Table@train.py:Table
#? data: instance:train.py:Buffer .data = list
class History(list):
    def log(self, x):
        self.append(x)  # <- history

    def log_many(self, xs):
        super().extend(xs)  # <- history


class Table(dict):
    def put(self, key, value):
        self[key] = value  # <- table


class Buffer:
    def __init__(self):
        self.data = []

    def __setitem__(self, key, value):
        self.data.append((key, value))  # <- data


history, table, buffer = History(), Table(), Buffer()
for i in range(10):
    history.log(i)
    history.append(i)  # <- history
    history.log_many([i])
    table.put(i, i)
    table[i] = i  # <- table
    buffer[i] = i
