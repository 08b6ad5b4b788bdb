import gc


class Still:
    def __enter__(self):
        gc.disable()

    def __exit__(self, *what):
        gc.enable()
