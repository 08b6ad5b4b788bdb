#? a: module:train.py first = list
#? b: module:train.py second = list
#? deep: module:train.py third = list
#? kw: module:train.py fourth = dict
#? star: module:train.py fifth = list
#? ret: module:train.py sixth = list
first, second, third, fourth, fifth, sixth = [], [], [], {}, [], []


def push(target, value):
    target.append(value)  # <- a # <- b


def deeper(where, value):
    push_again(where, value)


def push_again(rows, value):
    rows.append(value)  # <- deep


def put(value, *, table=None):
    table[value] = value  # <- kw


def spread(value, *lists):
    for each in lists:
        each.append(value)  # <- star


def pick():
    return sixth


for i in range(3):
    push(first, i)
    push(second, i)
    deeper(third, i)
    put(i, table=fourth)
    spread(i, fifth)
    pick().append(i)  # <- ret
