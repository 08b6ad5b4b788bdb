import gc

gc.set_threshold(50_000, 50, 50)
gc.freeze()
