#? state: module:lib/state.py HISTORY = list
#? imported: module:train.py HISTORY = list
#? other: module:lib/state.py CACHE = dict
#? logger: module:train.py log .entries@lib/log.py:Logger = list
#? given: instance:lib/log.py:Logger .extra = list
#? base: instance:train.py:Mine .outputs@train.py:Mine = list
import lib.state
from lib import state as st
from lib.base import Base
from lib.log import Logger
from lib.state import HISTORY
from lib.util import remember

extra = []
log = Logger(extra)


class Mine(Base):
    def step(self, x):
        self.outputs.append(x)  # <- base
        self.note(x)


mine = Mine()
for i in range(10):
    HISTORY.append(i)  # <- state # <- imported
    lib.state.HISTORY.append(i)  # <- state # <- imported
    st.CACHE[i] = i  # <- other
    remember(i)
    log.write(i)
    extra.append(i)  # <- given
    mine.step(i)
# file: lib/__init__.py
# file: lib/state.py
HISTORY = []
CACHE = {}
# file: lib/util.py
from .state import HISTORY as seen


def remember(x):
    seen.append(x)  # <- state # <- imported
# file: lib/log.py
class Logger:
    def __init__(self, extra):
        self.entries = []
        self.extra = extra

    def write(self, x):
        self.entries.append({"x": x})  # <- logger
        self.extra.append(x)  # <- given
# file: lib/base.py
class Base:
    def __init__(self):
        self.outputs = []

    def note(self, x):
        self.outputs.append((x, x))  # <- base
