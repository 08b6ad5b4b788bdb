#? all: module:state.py EVERYTHING = list
#? via: module:train.py EVERYTHING = list
#? meter: instance:state.py:Meter .values = list
#? ctx: instance:state.py:Session .rows = list
from state import *

meter = Meter()
for i in range(10):
    EVERYTHING.append(i)  # <- all # <- via
    meter.values.append(i)  # <- meter
    with Session() as session:
        session.rows.append(i)  # <- ctx
# file: state.py
EVERYTHING = []


class Meter:
    def __init__(self):
        self.values = []


class Session:
    def __init__(self):
        self.rows = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass
