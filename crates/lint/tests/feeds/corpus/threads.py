#? rows: module:train.py rows = list
#? results: module:train.py results = list
#? mapped: module:train.py mapped = list
#? queue: module:train.py queue = Queue
#? heap: module:train.py heap = list
#? sub: module:train.py submitted = list
#? kept: frame:train.py:collect kept = list
#? buffered: frame:train.py:Collector.run buffered = list
#? mine: frame:train.py:each mine = list
import heapq
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

rows, results, mapped, heap, submitted = [], [], [], [], []
queue = Queue()


def work(target, n):
    for i in range(n):
        target.append(i)  # <- rows


def job(out, x):
    out.append(x)  # <- sub


def collect(inbox):
    kept = []
    while not inbox.closed:
        kept.append(inbox.get())  # <- kept


class Collector(threading.Thread):
    def run(self):
        buffered = []
        while not queue.closed:
            buffered.append(queue.get())  # <- buffered


def each(n):
    mine = []
    for i in range(n):
        mine.append(i)  # <- mine maybe


threading.Thread(target=collect, args=(queue,)).start()
Collector().start()
for i in range(10):
    threading.Thread(target=each, args=(i,)).start()
pool = ThreadPoolExecutor()
threading.Thread(target=work, args=(rows, 10)).start()
for i in range(10):
    pool.apply_async(print, callback=results.append)  # <- results
    list(map(mapped.append, [i]))  # <- mapped
    queue.put(i)  # <- queue
    heapq.heappush(heap, i)  # <- heap
    pool.submit(job, submitted, i)
