#? slots: module:train.py slots = list
#? anonymous: module:train.py trainer [] = list
#? gone: module:train.py missing = list
#? nofile: module:other.py x = list
#? noclass: instance:other.py:Thing .items = list
#? read: module:train.py table = list
#? nofunc: frame:train.py:nowhere x = list
trainer = object()
table = [1, 2, 3]
for row in table:
    print(row, table[0], len(table))
    table.sort()
    table.index(row)
    sorted(table).append(row)
    table[:2].append(row)
slots = [None] * 10
for at in range(1000):
    slots[at % 10] = at
    slots[at] = at
